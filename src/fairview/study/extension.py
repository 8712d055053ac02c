"""Is this the study that the folder holds? `study.json` says what was asked; it may be extended, not changed."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairview.data.graph import NodeGraph
from fairview.errors import InputError, Problems, embed, option, quoted
from fairview.study.journal import result_versions
from fairview.study.plan import Row
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
        "rows": [{"method": row.method, "encoder": row.encoder, "settings": dict(row.settings)} for row in rows],
        "versions": result_versions() | {"python": platform.python_version()},
    }


def check_extends(folder: Path, asked: Mapping[str, Any]) -> None:
    """What the folder holds must be part of what is asked now: more methods, encoders, seeds or splits may be added.

    Raises:
        InputError: naming each difference.
    """
    if (folder / "run.json").exists():
        raise InputError(f"{folder}: holds a training run, not a comparison. Use another {option('folder')}.")
    held = _read(folder / "study.json")
    if held is None:
        return
    asked = json.loads(json.dumps(asked))  # tuples as lists, as in the file
    problems = Problems()
    for name, words in _MUST_BE_EQUAL.items():
        if held[name] != asked[name]:
            problems.add(f"{folder}: {words} was {_short(held[name])}, now it is {_short(asked[name])}.")
    if held["seeds"] > asked["seeds"]:
        problems.add(f"{folder}: it has {held['seeds']} seeds, now {asked['seeds']} are asked for.")
    if held["splits"] > asked["splits"] or (held["splits"] == 1) != (asked["splits"] == 1):
        own = " (one split is the graph's own, several are drawn)" if 1 in (held["splits"], asked["splits"]) else ""
        problems.add(f"{folder}: it has {held['splits']} split(s), now {asked['splits']} are asked for{own}.")
    now = {(row["method"], row["encoder"]): row["settings"] for row in asked["rows"]}
    for row in held["rows"]:
        label = " ".join(word for word in (row["method"], row["encoder"]) if word)
        settings = now.get((row["method"], row["encoder"]))
        if settings is None:
            problems.add(f"{folder}: it has a row '{label}', which is not asked for now.")
        elif settings != row["settings"]:
            names = sorted(
                name
                for name in settings.keys() | row["settings"].keys()
                if settings.get(name, _ABSENT) != row["settings"].get(name, _ABSENT)
            )
            problems.add(f"{folder}: row '{label}' has other settings ({quoted(names)}).")
    try:
        problems.raise_if_any()
    except InputError as error:
        advice = f"A comparison can be extended, not changed: use another {option('folder')}."
        several = len(error.problems) > 1
        raise InputError([*error.problems, advice] if several else f"{embed(error.message)} {advice}") from None


_ABSENT = object()

_TYPES = {"sha256": str, "study_seed": int, "selection": str, "seeds": int, "splits": int, "rows": list}


def _read(path: Path) -> dict[str, Any] | None:
    """A study that was begun here, checked as far as it is looked at."""
    if not path.exists():
        return None
    problem = InputError(f"{path}: can't be read as the description of a comparison. Use another {option('folder')}.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise problem from None
    if not isinstance(found, dict) or found.get("kind") != "study" or found.get("version") != 1:
        raise problem
    if any(not isinstance(found.get(name), kind) for name, kind in _TYPES.items()):
        raise problem
    for row in found["rows"]:
        if not isinstance(row, dict) or not {"method", "encoder", "settings"} <= row.keys():
            raise problem
        if not isinstance(row["settings"], dict) or not isinstance(row["method"], str):
            raise problem
        if not isinstance(row["encoder"], str | None):
            raise problem
    return found


def _short(value: object) -> str:
    text = str(value)
    return f"'{text[:12]}…'" if len(text) > 40 else f"'{text}'"
