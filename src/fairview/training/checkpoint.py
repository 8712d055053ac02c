"""How does a stopped run continue with identical results? One file with the whole state, replaced atomically."""

from __future__ import annotations

import hashlib
import json
import math
import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch

from fairview.atomic import write_atomic
from fairview.errors import ModelFileError, in_one_line, option
from fairview.training.loop import Progress
from fairview.training.state import State, below, prefixed

LARGEST = 4 * 1024**3


def save_checkpoint(path: Path, progress: Progress, state: State, *, identity: str) -> None:
    """Write progress and state; `identity` says which run they belong to (settings and data)."""
    tensors = prefixed("state", state) | prefixed("best", progress.best)
    plain = {name: value for name, value in asdict(progress).items() if name != "best"}
    about = json.dumps(plain)  # keys in their order: the resumed history is written like an uninterrupted one
    metadata = {"identity": identity, "progress": about, "sha256": _digest(tensors, identity, about)}
    write_atomic(path, safetensors.torch.save(tensors, metadata))


def load_checkpoint(path: Path, *, identity: str) -> tuple[Progress, State]:
    """Read them back.

    Raises:
        ModelFileError: the file is damaged, or belongs to a run with other settings or data.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ModelFileError(f"{path}: is not a file.")
        if about.st_size > LARGEST:
            raise ModelFileError(f"{path}: larger than {LARGEST:,} bytes; that is no checkpoint.")
        with safetensors.safe_open(str(path), framework="pt") as stream:
            metadata = dict(stream.metadata() or {})
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 - no mapping
        sound = metadata["sha256"] == _digest(tensors, metadata["identity"], metadata["progress"])
    except ModelFileError:
        raise
    except Exception as error:  # whatever a reader makes of a damaged file
        raise ModelFileError(f"{path}: not a checkpoint ({in_one_line(error)}).") from None
    if not sound:
        raise ModelFileError(f"{path}: does not match its own sha256; it is damaged or changed.")
    if metadata["identity"] != identity:
        raise ModelFileError(
            f"{path}: belongs to a run with other settings or other data. Use the same ones, or another "
            f"{option('folder')}."
        )
    try:
        progress = Progress(**json.loads(metadata["progress"]))
        whole = _is_whole(progress)
    except (TypeError, ValueError, RecursionError, AttributeError, KeyError):
        whole = False
    if not whole:
        raise ModelFileError(f"{path}: not a checkpoint (its progress can't be read).")
    progress.best, progress.interrupted = below(tensors, "best"), False
    if bool(progress.best) != bool(progress.best_epoch):
        raise ModelFileError(f"{path}: not a checkpoint (its best epoch is missing).")
    return progress, below(tensors, "state")


def _is_whole(progress: Progress) -> bool:
    """A history without gaps, of numbers, and a best epoch that is in it."""
    read: Any = progress  # from a file: its types are promises
    epochs, best, score = read.history, read.best_epoch, read.best_score
    return (
        isinstance(epochs, list)
        and [epoch["epoch"] for epoch in epochs] == [*range(1, len(epochs) + 1)]
        and all(_numbers(epoch["loss"]) and _numbers(epoch["val"]) and _numbers(epoch, "score") for epoch in epochs)
        and type(best) is int
        and 0 <= best <= len(epochs)
        and isinstance(score, float)
        and not math.isnan(score)
        and isinstance(read.left_out, list)
        and all(isinstance(text, str) for text in read.left_out)
    )


def _numbers(values: dict[str, Any], *names: str) -> bool:
    return all(value is None or type(value) is float for value in (values[name] for name in names or values))


def _digest(tensors: State, *texts: str) -> str:
    digest = hashlib.sha256("\n".join(texts).encode())
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
