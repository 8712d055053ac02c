"""Is a folder what was written, and do its numbers follow from it? The model's files, and its certificate."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fairview.arguments import require_folder
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.splits import with_default_split
from fairview.errors import FairviewError, InputError, in_one_line
from fairview.isolation import isolated
from fairview.methods.encoder_spec import Encoder
from fairview.methods.model_files import load_model
from fairview.tuning.certificate import NAME, check_certificate


@dataclass(frozen=True)
class Verification:
    """What `verify` found.

    Attributes:
        ok: nothing is wrong.
        problems: what is.
        checked: what was looked at.
        recounted: whether the certificate's counts were made again from the data.
    """

    ok: bool
    problems: tuple[str, ...]
    checked: tuple[str, ...]
    recounted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@isolated()
def verify(
    folder: str | Path,
    graph: NodeGraph | None = None,
    *,
    method: type | None = None,
    encoder: Encoder | None = None,
) -> Verification:
    """Check the model and the certificate of a run or tuning folder.

    Args:
        folder: of a run, or of a tuning, whose `run` is checked.
        graph: that the model was tuned on. With it the certification nodes are drawn again, and the counts behind the
            certificate are made again from the model's predictions.
        method: for a model of a class of your own that is not registered, that class.
        encoder: for a model with a module of your own, as in `load_model`.

    Raises:
        InputError: there is nothing in the folder that could be checked.
    """
    folder = require_folder(folder, "verify")
    if graph is not None:
        require_graph(graph, "verify")
    problems: list[str] = []
    checked: list[str] = []
    recounted = False
    load = partial(load_model, method=method, encoder=encoder)
    run = folder
    if (folder / "tune.json").exists():
        run = folder / "run"
        problems += _tuning(folder, run)
        checked.append("tune.json")
    if (run / "model.json").exists():
        checked += ["model.json", "model.safetensors"]
        try:
            load(run)
        except FairviewError as error:
            problems.append(in_one_line(error))
    if (run / NAME).exists():
        recounted = graph is not None and not problems
        problems += check_certificate(
            run, with_default_split(graph)[0] if graph is not None and recounted else None, load
        )
        checked.append(NAME)
    if not checked:
        raise InputError(f"{folder}: nothing to verify. Looked for tune.json, model.json and {NAME}.")
    return Verification(not problems, tuple(problems), tuple(checked), recounted)


def _tuning(folder: Path, run: Path) -> list[str]:
    """The folder's own document against its run."""
    try:
        document = json.loads((folder / "tune.json").read_text(encoding="utf-8"))
        chosen, limits = document["chosen"], document["limits"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ["tune.json: can't be read."]
    if chosen is None:
        return ["run: there is one, although tune.json says that no model was chosen."] if run.exists() else []
    if limits and not (run / NAME).exists():
        return [f"run/{NAME}: is missing, although tune.json says that a model was certified."]
    try:
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
        certificate = json.loads((run / NAME).read_text(encoding="utf-8")) if limits else {"limits": []}
        same = (record["method"], record["threshold"]) == (chosen["method"], chosen["threshold"])
        told = [{name: row[name] for name in chosen["limits"][0]} for row in certificate["limits"]]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return ["run: run.json or the certificate can't be read."]
    if not same or (limits and told != chosen["limits"]):
        return ["run: it is not the model that tune.json describes."]
    return []
