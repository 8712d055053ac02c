"""What may a tuning folder hold, and what is written into it? One search, one decision, the chosen model."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from fairview.atomic import write_json
from fairview.data.graph import NodeGraph
from fairview.errors import InputError, option
from fairview.runs.run import write_run
from fairview.tuning.certificate import NAME
from fairview.tuning.tuning import VERSION, Tuning


def begin(folder: Path, study: dict[str, Any], *, resume: bool) -> None:
    """A fresh folder, or one that was begun with the same request."""
    path = folder / "study.json"
    if not path.exists():
        if (folder / "run.json").exists() or (folder / "tune.json").exists():
            raise InputError(f"{folder}: holds something else already. Use another {option('folder')}.")
        write_json(path, {"kind": "tuning study", "version": VERSION} | study)
        return
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        different = sorted(name for name, value in study.items() if known.get(name) != value)
    except (OSError, ValueError, AttributeError, RecursionError):
        raise InputError(f"{path}: can't be read. Use another {option('folder')}, or remove this one.") from None
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
    try:
        before = json.loads((folder / "tune.json").read_text(encoding="utf-8"))["budget"]
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder / 'tune.json'}: can't be read. Use another {option('folder')}.") from None
    if minutes is not None or before != {"trials": trials, "minutes": minutes}:
        raise InputError(
            f"{folder}: holds a decision already. To try more models would be a second look at the same certification "
            f"nodes, which is not covered by a certificate. Use another {option('folder')} and another "
            f"{option('seed')}."
        )


def write_chosen(result: Tuning, folder: Path, graph: NodeGraph) -> None:
    """The chosen model as a run folder, with its certificate."""
    if result.chosen_model is None:
        return
    chosen = {name: result.document["chosen"][name] for name in ("method", "settings", "threshold")}
    text = json.dumps(["tune", chosen, result.document["seed"], graph.sha256], sort_keys=True)
    write_run(result.chosen_model, graph, folder / "run", hashlib.sha256(text.encode()).hexdigest())
    if result.certificate is not None:
        write_json(folder / "run" / NAME, result.certificate)
