"""A sparse matrix times a wide dense one, forwards and backwards, as quickly as the machine allows.

PyTorch's own backward of a sparse product transposes the matrix each time anew. Here the transpose is made once, and
kept.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor


class SparseMatrix:
    """S with its transpose, for products S Y in training."""

    def __init__(self, matrix: sparse.csr_array, *, dtype: torch.dtype, device: torch.device | str = "cpu") -> None:
        self._source, self._dtype, self._device = matrix, dtype, device
        self.forward_matrix = _csr(matrix, dtype, device)
        self.backward_matrix = _csr(sparse.csr_array(matrix.T.tocsr()), dtype, device)

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self._product(None, dense)

    def added_to(self, base: Tensor, dense: Tensor) -> Tensor:
        """base + S Y, in one pass over the result."""
        return self._product(base, dense)

    def _product(self, base: Tensor | None, dense: Tensor) -> Tensor:
        matrices = self.forward_matrix, self.backward_matrix
        product: Tensor = _Product.apply(*matrices, base, dense)  # type: ignore[no-untyped-call]
        return product

    def rows(self, index: np.ndarray) -> tuple[SparseMatrix, np.ndarray]:
        """S restricted to some rows and to the columns that those rows (and the rows' own nodes) touch.

        Returns:
            The small matrix, and the nodes that its columns stand for, ascending.
        """
        part = self._source[index]
        touched = np.union1d(part.indices, index)
        return SparseMatrix(sparse.csr_array(part[:, touched]), dtype=self._dtype, device=self._device), touched


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: Tensor, transposed: Tensor, base: Tensor | None, dense: Tensor) -> Tensor:
        ctx.transposed, ctx.has_base = transposed, base is not None
        return _times(matrix, dense, base)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor | None, Tensor]:
        return None, None, gradients[0] if ctx.has_base else None, _times(ctx.transposed, gradients[0])


_CACHED = 8 * 1024**2  # bytes of a dense matrix whose rows are read in random order without waiting for main memory
_WIDE = 4 * _CACHED  # bytes of a dense matrix above which taking its columns in blocks pays for copying them
_FEWEST_COLUMNS = 16  # narrower blocks spend more time on indices than they save


def _times(matrix: Tensor, dense: Tensor, base: Tensor | None = None) -> Tensor:
    """S Y, plus a base if there is one; the same bits whether or not it is made in blocks.

    A block of columns is taken at a time where it fits the cache and the whole does not.
    """
    columns = _CACHED // (dense.element_size() * max(len(dense), 1))
    if dense.numel() * dense.element_size() <= _WIDE or columns < _FEWEST_COLUMNS:
        return _whole(matrix, dense, base)
    product = dense.new_empty(matrix.shape[0], dense.shape[1])
    for start in range(0, dense.shape[1], columns):
        block = slice(start, start + columns)
        product[:, block] = _whole(matrix, dense[:, block], None if base is None else base[:, block])
    return product


def _whole(matrix: Tensor, dense: Tensor, base: Tensor | None) -> Tensor:
    return matrix @ dense.contiguous() if base is None else torch.addmm(base, matrix, dense.contiguous())


def _csr(matrix: sparse.csr_array, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    matrix = matrix if matrix.has_sorted_indices else matrix.sorted_indices()
    index = torch.int32 if matrix.nnz < 2**31 else torch.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # compressed rows are "in beta"; the tests compare with dense
        return torch.sparse_csr_tensor(
            torch.tensor(matrix.indptr, dtype=index),
            torch.tensor(matrix.indices, dtype=index),
            torch.tensor(matrix.data, dtype=dtype),
            size=matrix.shape,
            device=device,
            check_invariants=False,
        )
