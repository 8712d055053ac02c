"""Which method is better on this graph, how sure is that, and what does it cost? Methods x encoders x seeds x splits.

A comparison is a folder that can be killed at any moment and resumed:

study.json      what was asked, with every setting, and the processor
journal.jsonl   one line per finished trial, appended and flushed at once: what a resumed comparison starts from
results.csv     one line per trial
summary.json    means, intervals, differences to the plain model, ranks
timings.csv     seconds and memory, apart because they differ from run to run; the other files are the same bytes
files.json      the sha256 of all of them, once it is finished
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairview.arguments import require_folder, require_seed, require_whole
from fairview.atomic import write_json
from fairview.data.datasets.registry import DATASETS
from fairview.data.few import few_nodes
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.splits import with_default_split
from fairview.errors import InputError, Problems, option
from fairview.isolation import isolated
from fairview.locks import folder_lock
from fairview.manifest import OWN as FILES
from fairview.manifest import record
from fairview.methods.contract import check_trainable
from fairview.methods.encoder_spec import Encoder
from fairview.outputs import check_folder
from fairview.progress import track_live
from fairview.study.extension import check_extends, machine_notes, study_document
from fairview.study.plan import Row, Selection, plan, selection_sentence
from fairview.study.result_tables import write_tables
from fairview.study.row_summary import Outcomes, summary_document, with_costs
from fairview.study.trials import TrialNotice, finished_trials, run_trials
from fairview.workers import end_if_still_starting

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

OWN = "own"
"""What own data is called in a trial's id."""
RECORDED = ("study.json", "journal.jsonl", "results.csv", "summary.json", "timings.csv")
OUTPUTS = (*RECORDED, FILES, "report.html")
"""What a comparison writes into its folder, or removes from it."""


@dataclass(frozen=True, repr=False)
class Comparison:
    """A finished comparison.

    Attributes:
        folder: where its files are.
        summary: what `summary.json` holds.
        rows: the trials and results of each row.
    """

    folder: Path
    summary: Mapping[str, Any]
    rows: Mapping[Row, Outcomes]

    def to_dict(self) -> dict[str, Any]:
        """The summary, with seconds and memory in each row."""
        return {"folder": str(self.folder)} | with_costs(self.summary, self.rows)

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per method, encoder and metric.

        Columns: `method`, `encoder` (null if it has none), `metric`, `runs`; `mean`, `std`, `low` and `high` over the
        runs; `difference`, `difference_low` and `difference_high` to the plain model with the same encoder; and
        `undefined`, why there is no value.

        Example:
            >>> import tempfile
            >>> import fairview as fv
            >>> graph, folder = fv.load_dataset("german"), tempfile.mkdtemp()
            >>> frame = fv.compare(graph, methods=["constant"], plain=False, folder=folder, workers=1).to_frame()
            >>> frame.pivot(on="metric", index="method", values="mean").select("method", "accuracy").rows()
            [('constant', 0.7)]
        """
        from fairview.study.comparison_display import comparison_frame

        return comparison_frame(self)

    def chart(self, figure: str | None = None) -> alt.VConcatChart:
        """A figure of the report: `tradeoff` (the default) or `comparison`, the differences; needs altair."""
        from fairview.report.chart import chart

        return chart(self, figure)

    def __repr__(self) -> str:
        from fairview.study.comparison_display import comparison_text

        return comparison_text(self)

    def _repr_html_(self) -> str:
        from fairview.study.comparison_display import comparison_html

        return comparison_html(self)


@isolated()
def compare(
    graph: NodeGraph,
    *,
    methods: Sequence[str | type | object] | str | type = ("fairvgnn",),
    encoders: Sequence[Encoder] | Encoder = ("gcn",),
    seeds: int = 5,
    splits: int = 1,
    folder: str | Path,
    study_seed: int = 0,
    preset: str | None = None,
    selection: Selection = "score",
    changes: Mapping[Any, Mapping[str, Any]] | None = None,
    plain: bool = True,
    workers: int | None = None,
    mixed_machines: bool = False,
    overwrite: bool = False,
    notice: TrialNotice | None = None,
) -> Comparison:
    """Compare methods on a graph, under one selection rule, over seeds and splits.

    Called again with the same folder it goes on where it was stopped; with more methods, encoders, seeds or splits it
    adds those. The numbers depend on neither the number of workers nor on interruptions; they do depend on the
    processor, so that a folder is gone on with on a processor of the same model only.

    Args:
        graph: with its own split, which is used when `splits` is 1.
        methods: each a name of `METHODS`, `package.module:Class`, a class or an instance of your own with `fit(graph)`
            and `predict_proba(graph)`; an instance keeps its settings and encoder. The majority answer and the plain
            model (`vanilla`) are always added.
        encoders: for the methods that have one: built-in names, `package.module:factory`, factories that take the
            number of channels, or modules with `forward(x, edge_index)`. A factory draws new weights for each seed, a
            module begins with the weights that it has.
        seeds: seeds 1 to N, each the `seed` of the method, as in `fairview train`.
        splits: 1 is the graph's own split; N > 1 are stratified splits 1 to N, drawn with `study_seed`.
        folder: of the comparison.
        study_seed: of the splits.
        preset: of FairVGNN; by default `paper` where there is one for the dataset, else `default`.
        selection: `score` (AUC + F1 + accuracy minus the gaps, on validation) for every method; `loss` for every method
            that can; or each method's `own` rule.
        changes: {method: {parameter: value}}; a method of your own may be called by its class or the class's name.
        plain: False leaves the plain model out, and the differences to it.
        workers: processes; by default one per core. Methods that other processes can't import (of a notebook, a script,
            or a function) run in this one.
        mixed_machines: go on in a folder that was begun on another processor, and say so in the summary.
        overwrite: replace files of the folder that fairview did not write; never a comparison or a file that was read.
        notice: called after each trial, for progress of your own; by default a bar is drawn.
    """
    end_if_still_starting()
    require_graph(graph, "compare")
    folder, (graph, split_notes) = require_folder(folder), with_default_split(graph)
    methods, encoders = _listed(methods), _listed(encoders)
    _check(graph, seeds, splits, study_seed, workers)
    known = graph.provenance.source if graph.provenance.source in DATASETS else None
    dataset = known or OWN
    rows = plan(methods, encoders, dataset=known, preset=preset, selection=selection, changes=changes, plain=plain)
    trials = {row: row.trials(dataset, seeds=seeds, splits=splits) for row in rows}
    study = study_document(
        graph, rows, dataset=dataset, seeds=seeds, splits=splits, selection=selection, study_seed=study_seed
    )
    local = [row.label for row in rows if not row.importable]
    everything = [trial for of_row in trials.values() for trial in of_row]
    with folder_lock(folder):
        study |= {"machines": check_extends(folder, study, mixed_machines=mixed_machines)}
        held = finished_trials(everything, {dataset: graph}, folder, study_seed=study_seed)  # a journal that fits
        check_folder(folder, OUTPUTS, inputs=graph.provenance.paths, overwrite=overwrite)
        if len(held) < len(everything):
            for stale in (FILES, "report.html"):
                (folder / stale).unlink(missing_ok=True)
        write_json(folder / "study.json", study)
        with track_live(f"Comparing on {graph.provenance.source}") as update:
            results = run_trials(
                everything,
                {dataset: graph},
                folder,
                study_seed=study_seed,
                workers=1 if local else workers,
                notice=notice or (lambda _, done, total: update(done, total)),
            )
        outcomes = dict(zip(everything, results, strict=True))
        of_rows = {row: [(trial, outcomes[trial]) for trial in of_row] for row, of_row in trials.items()}
        summary = summary_document(
            graph,
            of_rows,
            study,
            selection=selection_sentence(rows, selection),
            notes=[
                *(split_notes if splits == 1 else ()),
                *few_nodes(graph),
                *machine_notes(study["machines"]),
                *_local_note(local),
            ],
            own_split="a stratified split drawn with seed 0" if split_notes else "the graph's own split",
        )
        check_folder(folder, OUTPUTS, inputs=graph.provenance.paths, overwrite=overwrite)
        write_tables(folder, everything, results)
        write_json(folder / "summary.json", summary)
        record(folder, RECORDED)
    return Comparison(folder, summary, of_rows)


def _check(graph: NodeGraph, seeds: int, splits: int, study_seed: int, workers: int | None) -> None:
    problems = Problems()
    for name, value in {"seeds": seeds, "splits": splits, "workers": 1 if workers is None else workers}.items():
        with problems.collecting():
            require_whole(value, name, least=1)
    with problems.collecting():
        require_seed(study_seed, "study_seed")
    problems.raise_if_any()
    if splits == 1:
        check_trainable(graph)
        if "test" not in graph.splits or not (graph.split("test") & graph.labelled).any():
            several = option("splits", 2)
            raise InputError(f"compare: no node of the test split has a label; pass {several} or more to draw them.")


def _listed(given: Any) -> Sequence[Any]:
    """One method or encoder stands for a list of it."""
    return list(given) if isinstance(given, list | tuple | set) else [given]


def _local_note(labels: Sequence[str]) -> list[str]:
    if not labels:
        return []
    are = "are" if len(labels) > 1 else "is"
    return [
        f"{', '.join(labels)} {are} known to this process alone: all trials ran in it, one after the other. Put the "
        "class or factory into a module that can be imported to use several processes."
    ]
