"""`fairview speed`: the collapsed path against PyG view by view, in one run, as a ratio."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from fairview.cli import options
from fairview.cli.output import Format, FormatOption, print_facts, print_json


def speed(
    dataset: Annotated[str, typer.Argument(help="A known dataset.")] = "german",
    encoder: Annotated[Literal["gcn", "gin", "sage", "sign"], typer.Option(help="The graph neural network.")] = "gcn",
    threads: Annotated[int | None, typer.Option(help="Of torch, for both paths.", min=1)] = None,
    data_dir: options.DataDir = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Time an epoch of FairVGNN's training both ways: PyG's convolutions view by view, and the exact collapsed path.

    On Bail the general path takes about a minute per epoch.

    Examples:

        fairview speed

        fairview speed bail --encoder sage --format json
    """
    from fairview.data.datasets import load_dataset
    from fairview.methods.presets import default_preset, preset_settings
    from fairview.runs.path_speed import measure_speed

    graph = load_dataset(dataset, data_dir=data_dir)
    timing = measure_speed(graph, preset_settings(default_preset(dataset, encoder), dataset, encoder), threads=threads)
    if format is Format.JSON:
        print_json(timing)
        return
    print_facts(
        f"{dataset}, {encoder}, {timing['threads']} thread(s)",
        {
            "general path": f"{timing['general_seconds_per_epoch']:.4f} s per epoch",
            "fast path": f"{timing['fast_seconds_per_epoch']:.4f} s per epoch",
            "ratio": f"{timing['ratio']:.1f}",
            "largest gradient difference": f"{timing['max_gradient_difference']:.1e} (relative, float64)",
            "peak memory": f"{timing['peak_memory_mb']:.0f} MB",
        },
    )
