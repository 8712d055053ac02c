"""The sparse product is the dense one, forwards and backwards, whole or in rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import sparse

from fairview.nn import sparse as module
from fairview.nn.sparse import SparseMatrix
from fairview.propagation import Operator


def random_matrix(seed: int = 0, shape: tuple[int, int] = (12, 12)) -> sparse.csr_array:
    """Not symmetric, with an empty row and an empty column."""
    dense = np.random.default_rng(seed).normal(size=shape)
    dense[np.random.default_rng(seed + 1).random(shape) < 0.7] = 0
    dense[3], dense[:, 5] = 0, 0
    return sparse.csr_array(dense)


def draws(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_product_equals_the_dense_one(dtype: torch.dtype) -> None:
    source, dense = random_matrix(), draws(12, 7).to(dtype)
    found = SparseMatrix(source, dtype=dtype) @ dense
    expected = torch.from_numpy(source.toarray()).to(dtype) @ dense
    assert found.dtype == dtype
    assert (found - expected).abs().max() <= 8 * torch.finfo(dtype).eps * expected.abs().max()


@pytest.mark.parametrize("shape", [(12, 12), (6, 12), (12, 6)])
def test_the_gradient_is_that_of_finite_differences(shape: tuple[int, int]) -> None:
    matrix = SparseMatrix(random_matrix(shape=shape), dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda dense: matrix @ dense, draws(shape[1], 2).requires_grad_())


def test_the_gradient_uses_the_transpose_also_for_strided_gradients() -> None:
    source, dense = random_matrix(2), draws(12, 4).requires_grad_()
    matrix, weights = SparseMatrix(source, dtype=torch.float64), draws(4, 12, seed=1)
    (found,) = torch.autograd.grad(((matrix @ dense).T * weights).sum(), dense)
    assert torch.allclose(found, torch.from_numpy(source.toarray()).T @ weights.T, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("rows", [[0], [3], [7, 2, 11], [5, 5, 1, 5], list(range(12))])
def test_some_rows_equal_the_rows_of_the_whole(rows: list[int]) -> None:
    source, dense = random_matrix(3), draws(12, 4).requires_grad_()
    whole, index = SparseMatrix(source, dtype=torch.float64), np.array(rows)
    part, touched = whole.rows(index)
    assert (np.diff(touched) > 0).all()
    assert set(rows) <= set(touched.tolist())
    assert set(touched.tolist()) == set(rows) | set(source[index].indices.tolist())
    expected, found = (whole @ dense)[index], part @ dense[touched]
    assert torch.allclose(found, expected, rtol=1e-14, atol=1e-14)
    weights = draws(len(rows), 4, seed=2)
    gradients = [torch.autograd.grad((product * weights).sum(), dense)[0] for product in (found, expected)]
    assert torch.allclose(*gradients, rtol=1e-14, atol=1e-14)


def test_unsorted_rows_are_sorted_in_a_copy() -> None:
    source = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    matrix = SparseMatrix(source, dtype=torch.float64)
    assert source.indices.tolist() == [2, 0, 1]
    assert (matrix @ torch.eye(3, dtype=torch.float64)).tolist() == [[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]


def test_an_operator_of_a_directed_graph_is_not_transposed(links: Callable[..., object]) -> None:
    s = Operator(kind="mean").matrix(links(15, 30, directed=True))
    dense = draws(15, 2).requires_grad_()
    product = SparseMatrix(s, dtype=torch.float64) @ dense
    assert torch.allclose(product, torch.from_numpy(s.toarray()) @ dense, rtol=1e-14, atol=1e-14)
    (gradient,) = torch.autograd.grad(product[0].sum(), dense)
    assert torch.allclose(gradient[:, 0], torch.from_numpy(s.toarray()[0]), rtol=1e-14, atol=0)


@pytest.mark.parametrize("columns", [1, 40, 160])
def test_blocks_of_columns_give_the_same_bits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = SparseMatrix(sparse.random_array((300, 300), density=0.1, format="csr", rng=0), dtype=torch.float32)
    dense = torch.randn(300, columns, generator=torch.Generator().manual_seed(0), requires_grad=True)
    whole = matrix @ dense
    (whole_gradient,) = torch.autograd.grad(whole.square().sum(), dense)
    monkeypatch.setattr(module, "_WIDE", 0)
    monkeypatch.setattr(module, "_CACHED", 300 * 4 * 17)  # blocks of 17 columns
    blocked = matrix @ dense
    (blocked_gradient,) = torch.autograd.grad(blocked.square().sum(), dense)
    assert torch.equal(blocked, whole)
    assert torch.equal(blocked_gradient, whole_gradient)


def test_a_base_is_added_forwards_and_backwards() -> None:
    matrix = random_matrix()
    base, dense = (torch.randn(12, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    total = SparseMatrix(matrix, dtype=torch.float64).added_to(base, dense)
    expected = base + torch.from_numpy(matrix.toarray()) @ dense
    torch.testing.assert_close(total, expected)
    weights = torch.arange(60.0, dtype=torch.float64).view(12, 5)
    found = torch.autograd.grad((total * weights).sum(), [base, dense])
    torch.testing.assert_close(found, torch.autograd.grad((expected * weights).sum(), [base, dense]))
