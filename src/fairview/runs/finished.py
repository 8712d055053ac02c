"""What does a finished run say of itself? Its documents, read back only if they are what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import nn

from fairview.errors import InputError, option
from fairview.files import read_regular
from fairview.manifest import DERIVED, check_recorded, mismatches
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import WAITING, load_model
from fairview.methods.registry import needs_group
from fairview.metrics.document import checked_metrics

FILES = ("history.jsonl", "metrics.json", "model.json", "model.safetensors", "predictions.csv")
"""What every finished run holds, beside run.json, which records their sha256."""

OUTPUTS = (*FILES, "run.json", "checkpoint.safetensors", WAITING, *DERIVED)
"""All that a run may write into its folder, or remove from it."""


def finished_run(folder: Path, model: Estimator, identity: str, *, resume: bool) -> dict[str, Any]:
    """What `train_run` returns for a folder that holds a finished run: the same again, if it is this very one.

    Raises:
        InputError: it is another run, it is not asked for again, or one of its files is damaged or changed.
    """
    record = read_record(folder)
    same = record.get("identity") == identity
    if not (resume and same):
        reason = "with other settings or data" if not same else f"already; {option('resume', True)} shows it again"
        raise InputError(f"{folder}: holds a finished run {reason}. Use another {option('folder')}.")
    metrics = read_metrics(folder)
    problems, _ = mismatches(folder, names=FILES)
    if problems:
        raise InputError([f"{folder}: {problem}" for problem in problems])
    encoder, basis = getattr(model, "encoder", None), getattr(model, "basis", None)
    load_model(  # notices damaged files now
        folder,
        method=type(model),
        encoder=encoder if isinstance(encoder, nn.Module) else None,
        basis=basis if callable(basis) else None,
    )
    facts = {name: record.get(name) for name in ("best_epoch", "epochs")} | {"notes": record.get("notes") or []}
    facts |= {"group_at_prediction": needs_group(model)}
    return {"run": str(folder), "metrics": metrics} | facts | {"seconds": {}, "interrupted": False}


def read_record(folder: Path) -> dict[str, Any]:
    """run.json, with the types that its readers rely on.

    Raises:
        InputError: there is none, or it is damaged or changed.
    """
    path = folder / "run.json"
    document = read_json(path)
    record: dict[str, Any] = document if isinstance(document, dict) else {}
    data = record.get("data")
    if not isinstance(data, dict) or not all(isinstance(data.get(name), str) for name in ("source", "sha256")):
        raise InputError(f"{path}: does not say which data the run is of; it is damaged, or not of fairview.")
    if not isinstance(record.get("notes", []), list):
        raise InputError(f"{path}: its notes are no list; it is damaged.")
    return record


def read_metrics(folder: Path) -> dict[str, dict[str, Any]]:
    """The metrics by split, each within its range.

    Raises:
        InputError: the file is missing, no table of metrics, damaged or changed.
    """
    path = folder / "metrics.json"
    document = read_json(path)
    try:
        return checked_metrics(document)
    except ValueError as error:
        raise InputError(f"{path}: {error}.") from None


def read_json(path: Path) -> Any:
    """A JSON document of a folder, after a check against the folder's record."""
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file; is it the folder of a finished run?")
        content = read_regular(path)
        document = json.loads(content)
    except OSError as error:
        raise InputError(f"{path}: can't be read ({error.strerror or error}).") from None
    except InputError:
        raise
    except (ValueError, RecursionError):
        raise InputError(f"{path}: can't be read as JSON; it is damaged.") from None
    check_recorded(path, content)
    return document


def read_object(path: Path) -> dict[str, Any]:
    """A JSON document that must be an object."""
    document = read_json(path)
    if not isinstance(document, dict):
        raise InputError(f"{path}: holds no JSON object; it is damaged, or of another program.")
    return document
