"""How do several processes make one run? The first decides, writes and tells; the others train along."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from fairview.data.graph import NodeGraph
from fairview.data.sharded_graph import ShardedGraph
from fairview.data.splits import with_default_split
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError
from fairview.methods.network_method import NetworkMethod, Resume
from fairview.training.checkpoint import load_checkpoint
from fairview.training.processes import GroupEndedError, hear, tell

Begin = Callable[[str, Path], None]
"""Called with a run's identity and its checkpoint, which may not exist: the training begins."""


@contextmanager
def leading(graph: NodeGraph) -> Iterator[Begin]:
    """In the first process: the others are told to begin when this one does, and to go on if it never does."""
    if not isinstance(graph, ShardedGraph):
        yield lambda *_: None
        return
    begun = False

    def begin(identity: str, checkpoint: Path) -> None:
        nonlocal begun
        begun = True
        about = {"identity": identity, "sha256": graph.sha256, "folder": folder_sha256(graph)}
        tell(json.dumps(about).encode() + b"\n" + (checkpoint.read_bytes() if checkpoint.exists() else b""))

    try:
        yield begin
    finally:
        if not begun:
            with suppress(GroupEndedError):  # then nobody listens
                tell(b"")


def follow_run(models: Sequence[NetworkMethod], graph: NodeGraph) -> None:
    """In any other process: train along with the first one's `train_run` of each model; nothing is written.

    Raises:
        GroupEndedError: another process ended, or this one was asked to.
        InputError: this machine has another propagated folder than the first one.
    """
    graph, _ = with_default_split(graph)
    for model in models:
        message = hear()
        if not message:  # this run is finished already, or was refused
            continue
        about, _, content = message.partition(b"\n")
        facts: dict[str, str] = json.loads(about)
        if folder_sha256(graph) != facts["folder"]:
            raise InputError(
                "propagated folder: another one than that of the first process. Give all machines the same."
            )
        earlier = _earlier(content, facts["identity"]) if content else None
        model.fit(graph.replace(told_sha256=facts["sha256"]), watch=lambda *_: None, resume=earlier)
        if model.interrupted_:
            raise GroupEndedError("this process was asked to end.")


def folder_sha256(graph: NodeGraph) -> str:
    """Of the manifest of the folder that a graph was loaded from."""
    return graph.adjacency.folder_sha256 if isinstance(graph.adjacency, StoredLinks) else ""


def _earlier(content: bytes, identity: str) -> Resume:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.safetensors"
        path.write_bytes(content)
        return load_checkpoint(path, identity=identity)
