"""How do several processes train one model? Each adds up its own nodes; sums, logits and news go to all of them.

Every process has the same parameters and draws. What is sent is added up in the order of the processes, in float64, so
that all of them go on with the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import Tensor

from fairview.errors import FairviewError, InputError, in_one_line

PATIENCE = timedelta(minutes=30)
"""How long a process waits for the others: one may have more to read. A connection that breaks is noticed at once."""


class GroupEndedError(FairviewError):
    """Another process of the group ended, or this one was asked to end."""


@dataclass(frozen=True)
class Place:
    """Which process this is, and of how many; the processes are started by torchrun."""

    rank: int
    processes: int

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.rank == 0


def place_by_torchrun() -> Place | None:
    """Which process this is of several that torchrun started; None if it is the only one.

    Raises:
        InputError: the variables that torchrun sets are not numbers.
    """
    rank, processes = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if rank is None or processes is None or "MASTER_ADDR" not in os.environ:
        return None
    if not (rank.isdecimal() and processes.isdecimal() and int(rank) < int(processes)):
        raise InputError(f"RANK={rank}, WORLD_SIZE={processes}: expected numbers as torchrun sets them.")
    return Place(int(rank), int(processes)) if int(processes) > 1 else None


@contextmanager
def joined() -> Iterator[None]:
    """Inside, the processes that torchrun started are connected.

    Raises:
        FairviewError: they can't be.
    """
    import torch.distributed as group
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        store, rank, processes = next(rendezvous("env://", timeout=PATIENCE))
        # processes that torchrun starts again find the store as the dead ones left it, with their addresses
        fresh = PrefixStore(f"fairview/{attempt}", store)
        group.init_process_group("gloo", store=fresh, rank=rank, world_size=processes, timeout=PATIENCE)
    except (RuntimeError, ValueError, OSError) as error:
        raise FairviewError(f"the processes can't be connected ({in_one_line(error)}).") from None
    try:
        yield
    finally:
        group.destroy_process_group()


def added_up(values: Sequence[Tensor]) -> list[Tensor]:
    """The sum over all processes of each tensor, each in its own shape and type."""
    flat = torch.cat([value.detach().reshape(-1).to("cpu", torch.float64) for value in values])
    total = torch.stack(_from_all(flat)).sum(dim=0)
    pieces = torch.split(total, [value.numel() for value in values])
    return [piece.view(value.shape).to(value) for piece, value in zip(pieces, values, strict=True)]


def gathered(values: Tensor, places: Sequence[Tensor]) -> Tensor:
    """The values of all nodes, (nodes, ...), in all processes.

    Args:
        values: of this process's nodes, (own nodes, ...).
        places: where the nodes of each process are among all.
    """
    counts = [len(of_process) for of_process in places]
    padded = torch.zeros((max(counts), *values.shape[1:]), dtype=values.dtype)
    padded[: len(values)] = values
    result = values.new_empty((sum(counts), *values.shape[1:]))
    for piece, of_process in zip(_from_all(padded), places, strict=True):
        result[of_process.to(result.device)] = piece[: len(of_process)].to(result)
    return result


@torch.no_grad()
def take_from_first(values: Iterable[Tensor]) -> None:
    """Overwrite each tensor with that of the first process."""
    import torch.distributed as group

    for value in values:
        sent = value.detach().to("cpu").contiguous()
        with _while_all_live():
            group.broadcast(sent, src=0)
        value.copy_(sent)


def tell(message: bytes) -> None:
    """Say something to all others, who `hear` it."""
    import torch.distributed as group

    with _while_all_live():
        group.broadcast(torch.tensor([len(message)]), src=0)
        if message:
            group.broadcast(torch.frombuffer(bytearray(message), dtype=torch.uint8), src=0)


def hear() -> bytes:
    """Wait for what the first process tells."""
    import torch.distributed as group

    with _while_all_live():
        size = torch.zeros(1, dtype=torch.int64)
        group.broadcast(size, src=0)
        content = torch.empty(int(size), dtype=torch.uint8)
        if len(content):
            group.broadcast(content, src=0)
    return content.numpy().tobytes()


def _from_all(values: Tensor) -> list[Tensor]:
    """The tensors of all processes, in their order."""
    import torch.distributed as group

    received = [torch.empty_like(values) for _ in range(group.get_world_size())]
    with _while_all_live():
        group.all_gather(received, values.contiguous())
    return received


@contextmanager
def _while_all_live() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise GroupEndedError("a process of the group ended.") from error
