"""Is this the study that the folder holds? `study.json` says what was asked; it may be extended, not changed."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, Problems, embed, option, quoted
from fairview.files import read_regular
from fairview.machine import cpu_capability, processor
from fairview.methods.encoder_spec import encoder_entry
from fairview.methods.registry import METHODS
from fairview.study.journal import result_versions
from fairview.study.plan import CONSTANT, Row
from fairview.study.trials import THREADS

_MUST_BE_EQUAL = {"sha256": "the data", "study_seed": "the study seed", "selection": "the selection rule"}


def study_document(
    graph: NodeGraph, rows: Sequence[Row], *, dataset: str, seeds: int, splits: int, selection: str, study_seed: int
) -> dict[str, Any]:
    """What was asked, with every setting resolved."""
    return {
        "kind": "study",
        "version": 1,
        "dataset": dataset,
        "source": graph.provenance.source,
        "sha256": graph.sha256,
        "methods": list(dict.fromkeys(row.method for row in rows)),
        "encoders": list(dict.fromkeys(row.encoder for row in rows if row.encoder is not None)),
        "seeds": seeds,
        "splits": splits,
        "selection": selection,
        "study_seed": study_seed,
        "threads": THREADS,
        "rows": [
            {"method": row.method, "encoder": row.encoder, "settings": dict(row.settings)} | _code(row) for row in rows
        ],
        "versions": result_versions() | {"python": platform.python_version()},
    }


def check_extends(folder: Path, study: Mapping[str, Any], *, mixed_machines: bool = False) -> list[dict[str, Any]]:
    """What the folder holds must be part of what is asked now: more methods, encoders, seeds or splits may be added.

    Args:
        folder: of the comparison.
        study: what `study_document` gives.
        mixed_machines: whether another processor than before may add to it.

    Returns:
        The processors that the trials are from, this one included.

    Raises:
        InputError: naming each difference.
    """
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: holds a training run, not a comparison. Use another {option('folder')}.")
    here = {"processor": processor(), "cpu_capability": cpu_capability()}
    held = _read(folder / "study.json")
    if held is None:
        return [here]
    study = json.loads(json.dumps(study))  # tuples as lists, as in the file
    problems = Problems()
    for name, words in _MUST_BE_EQUAL.items():
        if held[name] != study[name]:
            problems.add(f"{folder}: {words} was {_short(held[name])}, now it is {_short(study[name])}.")
    if held["seeds"] > study["seeds"]:
        problems.add(f"{folder}: it has {held['seeds']} seeds, now {study['seeds']} are asked for.")
    if held["splits"] > study["splits"] or (held["splits"] == 1) != (study["splits"] == 1):
        rule = " (one split is the graph's own, several are drawn)" if 1 in (held["splits"], study["splits"]) else ""
        problems.add(f"{folder}: it has {held['splits']} split(s), now {study['splits']} are asked for{rule}.")
    for row in held["rows"]:
        if difference := _difference(row, study["rows"]):
            problems.add(f"{folder}: {difference}")
    try:
        problems.raise_if_any()
    except InputError as error:
        advice = f"A comparison can be extended, not changed: use another {option('folder')}."
        several = len(error.problems) > 1
        raise InputError([*error.problems, advice] if several else f"{embed(error.message)} {advice}") from None
    machines: list[dict[str, Any]] = held.get("machines", [_UNRECORDED])
    if here not in machines and machines != [_UNRECORDED] and not mixed_machines:
        raise InputError(
            f"{folder}: was computed on {_listed(machines)}; this is {_listed([here])}. Results depend on the "
            f"processor, so their numbers don't mix: use another {option('folder')}, or pass "
            f"{option('mixed_machines', True)}."
        )
    return machines if here in machines else [*machines, here]


def machine_notes(machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a reader must know if not all trials are from one processor."""
    if len(machines) < 2:
        return []
    if _UNRECORDED in machines:
        return ["It was begun by a version that did not record the processor: its rows may mix results of several."]
    return [f"The trials ran on different processors ({_listed(machines)}), on which the same run gives other numbers."]


_UNRECORDED: dict[str, Any] = {"processor": None, "cpu_capability": None}
"""In a folder of version 0.1.0."""


def _listed(machines: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(f"{machine['processor']}, torch's {machine['cpu_capability']} kernels" for machine in machines)


def _difference(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """What is otherwise about a row that the folder holds; empty if it is asked for as it is."""
    if row["method"] == CONSTANT and not row["settings"]:
        return ""  # version 0.1.0 answered yes to everybody; the majority answer takes its place
    label = " ".join(word for word in (row["method"], row["encoder"]) if word)
    alike = [other for other in rows if (other["method"], other["encoder"]) == (row["method"], row["encoder"])]
    if not alike:
        return f"it has a row '{label}', which is not asked for now."
    same = [other for other in alike if other["settings"] == row["settings"]]
    if not same:
        settings = [{name: (value,) for name, value in one["settings"].items()} for one in (alike[0], row)]
        names = sorted(name for name in settings[0] | settings[1] if settings[0].get(name) != settings[1].get(name))
        return f"row '{label}' has other settings ({quoted(names)})."
    return "" if same[0].get("code") == row.get("code") else f"the code of '{label}' has changed."


def _code(row: Row) -> dict[str, str]:
    """A hash of the code of what is not part of the package: a changed method is another one."""
    parts: list[Any] = [] if row.method in METHODS else [row.entry.method]
    if row.encoder is not None and callable(target := encoder_entry(row.encoder).target):
        parts.append(target if hasattr(target, "__qualname__") else type(target))
    try:
        text = "".join(map(inspect.getsource, parts))
    except (OSError, TypeError):  # typed at a prompt
        return {}
    return {"code": hashlib.sha256(text.encode()).hexdigest()[:12]} if text else {}


_TYPES = {"sha256": str, "study_seed": int, "selection": str, "seeds": int, "splits": int, "rows": list}


def _read(path: Path) -> dict[str, Any] | None:
    """A study that was begun here, checked as far as it is looked at."""
    if not path.exists():
        return None
    problem = InputError(f"{path}: can't be read as the description of a comparison. Use another {option('folder')}.")
    try:
        document = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        raise problem from None
    if not isinstance(document, dict) or document.get("kind") != "study" or document.get("version") != 1:
        raise problem
    if any(not isinstance(document.get(name), kind) for name, kind in _TYPES.items()):
        raise problem
    if not isinstance(document.get("machines", []), list):
        raise problem
    for machine in document.get("machines", []):
        if not isinstance(machine, dict) or machine.keys() != _UNRECORDED.keys():
            raise problem
    for row in document["rows"]:
        if not isinstance(row, dict) or not {"method", "encoder", "settings"} <= row.keys():
            raise problem
        if not isinstance(row["settings"], dict) or not isinstance(row["method"], str):
            raise problem
        if not isinstance(row["encoder"], str | None):
            raise problem
    return document


def _short(value: object) -> str:
    text = str(value)
    return f"'{text[:12]}…'" if len(text) > 40 else f"'{text}'"
