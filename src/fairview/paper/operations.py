"""How much arithmetic does a piece of training do? Counted operation by operation, so that no clock is involved.

A product counts its multiplications (a sparse one: those of the stored numbers), everything else the numbers that it
reads or writes, whichever are more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "mv", "addmv")


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts what PyTorch computes inside a `with`, forwards and backwards.

    Attributes:
        count: so far.

    Example:
        >>> with Operations() as counted:
        ...     product = torch.ones(2, 3) @ torch.ones(3, 4)
        >>> counted.count - 2 * 3 - 3 * 4  # without making the two matrices
        24
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        given = list(_tensors(args))
        if func.overloadpacket.__name__ in _PRODUCTS:
            self.count += _multiplications(*given[-2:])
        elif not func.is_view:
            self.count += max(sum(map(_numbers, given)), sum(map(_numbers, _tensors(result))))
        return result


def _multiplications(first: Tensor, second: Tensor) -> int:
    """Every number of the first factor meets a row of the second."""
    return _numbers(first) * (second.shape[-1] if second.dim() > 1 else 1)


def _numbers(tensor: Tensor) -> int:
    """Those that are stored."""
    return tensor.numel() if tensor.layout == torch.strided else int(tensor._nnz())


def _tensors(value: Any) -> Iterator[Tensor]:
    """All that lie in an argument or result."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for part in value:
            yield from _tensors(part)
