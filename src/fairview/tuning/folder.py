"""What may a tuning folder hold, and what is written into it? One search, one decision, the chosen model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fairview.atomic import as_text, write_json
from fairview.data.graph import NodeGraph
from fairview.errors import InputError, option
from fairview.files import read_regular
from fairview.locks import folder_lock
from fairview.manifest import OWN as FILES
from fairview.manifest import check_recorded, mismatches, record, write_recorded
from fairview.marks import wrote
from fairview.methods.model_files import WAITING
from fairview.outputs import Inputs, check_folder
from fairview.runs.finished import OUTPUTS as RUN
from fairview.runs.finished import read_json, read_record
from fairview.runs.run import write_run
from fairview.tuning.certificate import NAME
from fairview.tuning.tuning import VERSION, Tuning

OUTPUTS = ("study.json", "journal.log", "tune.json", FILES, "report.html")
"""What a tuning writes into its folder, beside trials and the run of the chosen model."""
_TRIAL = ("trial.json", "scores.npy", "model.json", "model.safetensors", WAITING)


def check_outputs(folder: Path, *, inputs: Inputs = (), overwrite: bool = False) -> None:
    """Whether a tuning may write all of its files into a folder.

    Raises:
        InputError: with every file that would be destroyed.
    """
    trials = [path.relative_to(folder) for path in folder.glob("trials/*")]
    journal = "journal.log"  # of a study of ours it is written anew, whatever stands in it
    check_folder(folder, [journal], inputs=inputs, overwrite=overwrite or wrote(folder / "study.json"))
    others = [name for name in OUTPUTS if name != journal]
    names = [*others, *(f"run/{name}" for name in RUN), *(f"{trial}/{name}" for trial in trials for name in _TRIAL)]
    check_folder(folder, names, inputs=inputs, overwrite=overwrite)


def begin(folder: Path, study: dict[str, Any], *, resume: bool) -> None:
    """A fresh folder, or one that was begun with the same request."""
    path = folder / "study.json"
    if not path.exists():
        if (folder / "run.json").exists() or (folder / "tune.json").exists():
            raise InputError(f"{folder}: holds something else already. Use another {option('folder')}.")
        write_json(path, {"kind": "tuning study", "version": VERSION} | study)
        return
    try:
        content = read_regular(path)
        known = json.loads(content)
        different = sorted(name for name, value in study.items() if known.get(name) != value)
    except (OSError, ValueError, AttributeError, RecursionError):
        raise InputError(f"{path}: can't be read. Use another {option('folder')}, or remove this one.") from None
    check_recorded(path, content)
    if different:
        raise InputError(
            f"{folder}: holds a search with other {', '.join(different)}. Use another {option('folder')}; a second "
            "look at the same certification nodes under another limit is not covered by a certificate."
        )
    if not resume:
        raise InputError(
            f"{folder}: holds this search already. Go on with {option('resume', True)}, or use another "
            f"{option('folder')}."
        )


def check_undecided(folder: Path, trials: int | None, minutes: float | None) -> None:
    """More models after a decision would be a second look at the same certification nodes."""
    if not (folder / "tune.json").exists():
        return
    try:
        before = read_json(folder / "tune.json")["budget"]
    except (KeyError, TypeError):
        raise InputError(f"{folder / 'tune.json'}: can't be read. Use another {option('folder')}.") from None
    if minutes is not None or before != {"trials": trials, "minutes": minutes}:
        raise InputError(
            f"{folder}: holds a decision already. To try more models would be a second look at the same certification "
            f"nodes, which is not covered by a certificate. Use another {option('folder')} and another "
            f"{option('seed')}."
        )


def write_chosen(result: Tuning, folder: Path, graph: NodeGraph, *, overwrite: bool = False) -> None:
    """The chosen model as a run folder, with its certificate; one that is there already stays, with its audit."""
    if result.chosen_model is None:
        return
    chosen = {name: result.document["chosen"][name] for name in ("method", "settings", "threshold")}
    text = json.dumps(["tune", chosen, result.document["seed"], graph.sha256], sort_keys=True)
    identity, run = hashlib.sha256(text.encode()).hexdigest(), folder / "run"
    with folder_lock(run):
        if _is_whole(run, identity, result.certificate):
            return
        write_run(result.chosen_model, graph, run, identity, overwrite=overwrite)
        if result.certificate is not None:
            write_recorded(run / NAME, as_text(result.certificate))


def _is_whole(run: Path, identity: str, certificate: dict[str, Any] | None) -> bool:
    """Whether the folder holds this very run, and nothing in it was changed."""
    try:
        record = read_record(run)
        known = None if certificate is None else read_json(run / NAME)
        problems, _ = mismatches(run)
    except InputError:
        return False
    return record.get("identity") == identity and known == certificate and not problems


def write_decision(folder: Path, document: dict[str, Any]) -> None:
    """`tune.json`, and last `files.json` with the sha256 of what led to it; a report of an earlier decision goes."""
    for stale in (FILES, "report.html"):
        (folder / stale).unlink(missing_ok=True)
    write_json(folder / "tune.json", document)
    trials = sorted(path.relative_to(folder).as_posix() for path in folder.glob("trials/*/trial.json"))
    logs = ["journal.log"] if (folder / "journal.log").exists() else []
    record(folder, ["study.json", "tune.json", *logs, *trials])
