"""Did fairview write this file? Each kind of file has a mark of its own: a header, a `kind`, a generator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

Mark = Callable[[Path], bool]
"""Whether a regular file, which is not empty, carries the mark."""

GENERATOR = b'<meta name="generator" content="fairview'
"""In the head of every page; reports of version 0.1.0 have a footer instead."""
SVG_MARK = b"<!-- fairview -->"
"""At the end of a chart."""
PNG_MARK = b"Software\0fairview"
"""In a text chunk of a chart, as the PNG standard has it."""
TENSORS = {"fairview": "model"}
"""Metadata of `model.safetensors`."""

_LARGEST = 64 * 2**20  # bytes of a document that are read at most
_HEAD = 4096


def wrote(path: Path, name: str | None = None) -> bool:
    """Whether fairview wrote this file, told by its content. An empty file has nothing to lose, and counts.

    Args:
        path: of a regular file.
        name: of the output that it would be replaced by, if that is not its own name.
    """
    mark = _mark_of(name or path.name)
    try:
        return path.stat().st_size == 0 or (mark is not None and mark(path))
    except OSError:
        return False


def _mark_of(name: str) -> Mark | None:
    if name in MARKS:
        return MARKS[name]
    return next((mark for ending, mark in _ENDINGS.items() if name.endswith(ending)), None)


# --- how they are told ------------------------------------------------------------------------------------------------


def _begins(*heads: bytes) -> Mark:
    return lambda path: _head(path, max(map(len, heads))).startswith(heads)


def _contains(*marks: bytes) -> Mark:
    return lambda path: any(mark in _whole(path) for mark in marks)


def _document(*kinds: str, keys: tuple[str, ...] = ()) -> Mark:
    """JSON of one of these kinds; or, as version 0.1.0 wrote it, without a kind and with one of these keys."""

    def mark(path: Path) -> bool:
        document = _parsed(_whole(path))
        if "kind" not in document:
            return any(key in document for key in keys)
        return document["kind"] in kinds

    return mark


def _lines(*keys: str) -> Mark:
    """A file of JSON lines whose first one has all of these keys."""
    return lambda path: _parsed(_whole(path).split(b"\n", 1)[0]).keys() >= {*keys}


def _tensors(path: Path) -> bool:
    """Metadata of our own; a file of an earlier version is told by the model.json beside it."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = _parsed(stream.read(length)) if length < _LARGEST else {}
    return header.get("__metadata__") == TENSORS or _beside("model.json")(path)


def _beside(name: str) -> Mark:
    """What is written together with another file is told by that one."""
    return lambda path: (path.parent / name).is_file() and wrote(path.parent / name)


def _of_paper(path: Path) -> bool:
    """A document of `fairview paper`, or a page, table or chart beside the one that it is made from."""
    documents = (
        other for other in path.parent.glob("*.json") if path.name.startswith((f"{other.stem}.", f"{other.stem}-"))
    )
    return any(_document("paper")(other) for other in documents if other.is_file())


def _decided_by_its_reader(_: Path) -> bool:
    """It is read before it is replaced, and its reader refuses what fairview did not write."""
    return True


_model_file: Mark = _contains(b'"tensors_sha256"')
_trial_table: Mark = _begins(b"trial,dataset,method,encoder,variant,split,seed,")

MARKS: Mapping[str, Mark] = MappingProxyType(
    {
        # a run
        "run.json": _document("run", keys=("identity",)),
        "metrics.json": _document("metrics", keys=("val", "test")),
        "history.jsonl": _lines("epoch"),
        "model.json": _model_file,
        "model.safetensors": _tensors,
        "model.safetensors.next": _tensors,
        "predictions.csv": _begins(b"id,score,prediction\n", b"id,score,prediction,"),
        "checkpoint.safetensors": _decided_by_its_reader,
        "audit.json": _document("audit"),
        "certificate.json": _document("certificate"),
        "explanation.json": _document("explanation"),
        "stability.json": _document("stability"),
        "report.html": _contains(GENERATOR, b"<p>Made with fairview "),
        # several runs, comparisons, tunings
        "files.json": _document("files"),
        "study.json": _decided_by_its_reader,
        "journal.jsonl": _decided_by_its_reader,
        "summary.json": _document("comparison"),
        "results.csv": _trial_table,
        "timings.csv": _trial_table,
        "tune.json": _document("tuning"),
        "trial.json": _document("trial"),
        "scores.npy": _beside("model.json"),
        "journal.log": _lines("op_code", "worker_id"),
        # the paper's folder
        "paper.html": _contains(GENERATOR, b"<title>FairVGNN's tables and figures, from our runs</title>"),
        "results.md": _begins(b"# Results\n\nMade by `fairview paper results`;"),
        "results-tables.md": _begins(b"# The tables behind the results\n\nMade by `fairview paper results`;"),
    }
)
"""By the name of an output."""

_ENDINGS: Mapping[str, Mark] = MappingProxyType(
    {
        ".svg": lambda path: SVG_MARK in _whole(path)[-64:] or _of_paper(path),
        ".png": lambda path: PNG_MARK in _head(path, 128),
        ".md": _of_paper,
        ".csv": _of_paper,
        ".json": _of_paper,
    }
)
"""Charts and the files of `fairview paper`, whose names differ."""


def _head(path: Path, size: int = _HEAD) -> bytes:
    with path.open("rb") as stream:
        return stream.read(size)


def _whole(path: Path) -> bytes:
    return _head(path, _LARGEST)


def _parsed(content: bytes) -> dict[str, Any]:
    """The JSON object; an empty one for anything else."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
