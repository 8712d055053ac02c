"""How are columns turned into a score, and how are the head's weights found?

    linear    u = Z w + b                       found by Newton's method without a penalty (convex), else by L-BFGS
    mlp       u = tanh(Z W + c) w + b           found by L-BFGS from random weights

A head is a row of numbers θ with `forward(θ, Z)`: the scores u, and the way from ∂/∂u back to ∂/∂θ. The objective adds
l2 |w|², over all weights but the biases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from fairview.methods.parity_objective import ParityObjective

Reals = npt.NDArray[np.float64]

WIDEST = 2000
"""Columns up to which second derivatives are used."""

_MEMORY = 30  # steps that L-BFGS remembers
_LEAST_CURVATURE = 1e-10  # so that the second derivative can be inverted where columns repeat each other


Backward = Callable[[Reals], Reals]


class Head(Protocol):
    """θ -> scores, and back."""

    @property
    def size(self) -> int:
        """How many numbers θ has."""
        ...

    def forward(self, theta: Reals, z: Reals) -> tuple[Reals, Backward]:
        """u of each row of Z, and the function ∂/∂u -> ∂/∂θ."""
        ...

    @property
    def biases(self) -> npt.NDArray[np.bool_]:
        """Which of θ are not held small by l2."""
        ...


@dataclass(frozen=True)
class LinearHead:
    """θ = (w, b)."""

    width: int

    @property
    def size(self) -> int:
        return self.width + 1

    @property
    def biases(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.arange(self.size) == self.width)

    def forward(self, theta: Reals, z: Reals) -> tuple[Reals, Backward]:
        return z @ theta[:-1] + theta[-1], lambda by_score: np.append(by_score @ z, by_score.sum())


@dataclass(frozen=True)
class MlpHead:
    """θ = (W, c, w, b), W by rows."""

    width: int
    hidden: int

    @property
    def size(self) -> int:
        return (self.width + 2) * self.hidden + 1

    @property
    def biases(self) -> npt.NDArray[np.bool_]:
        first, second = self.width * self.hidden, (self.width + 1) * self.hidden
        place = np.arange(self.size)
        return np.asarray((place >= first) & (place < second) | (place == self.size - 1))

    def start(self, seed: list[int]) -> Reals:
        """Random weights, no biases."""
        random_numbers = np.random.default_rng(seed)
        first = random_numbers.standard_normal(self.width * self.hidden) / np.sqrt(self.width)
        second = random_numbers.standard_normal(self.hidden) / np.sqrt(self.hidden)
        return np.concatenate([first, np.zeros(self.hidden), second, [0.0]])

    def forward(self, theta: Reals, z: Reals) -> tuple[Reals, Backward]:
        first, second = self.width * self.hidden, (self.width + 1) * self.hidden
        inner, biases, outer = theta[:first].reshape(self.width, self.hidden), theta[first:second], theta[second:-1]
        active = np.tanh(z @ inner + biases)

        def backward(by_score: Reals) -> Reals:
            by_inner = by_score[:, None] * outer * (1 - active**2)
            parts = [(z.T @ by_inner).ravel(), by_inner.sum(axis=0), by_score @ active, [by_score.sum()]]
            return np.concatenate(parts)

        return active @ outer + theta[-1], backward


def regularised(head: Head, objective: ParityObjective, z: Reals, l2: float) -> Callable[[Reals], tuple[float, Reals]]:
    """θ -> objective of the scores + l2 |w|², with the gradient."""
    ridge = np.where(head.biases, 0.0, l2)

    def function(theta: Reals) -> tuple[float, Reals]:
        scores, backward = head.forward(theta, z)
        value, by_score = objective(scores)
        return value + float(ridge @ theta**2), backward(by_score) + 2 * ridge * theta

    return function


def minimised(
    function: Callable[[Reals], tuple[float, Reals]],
    start: Reals,
    *,
    max_iterations: int,
    tolerance: float,
    factor: Reals | None = None,
) -> Reals:
    """L-BFGS from a start; with an upper triangular R, R'R about the second derivative, in the coordinates R θ.

    In these coordinates the bowl is round, so that a few dozen steps suffice where hundreds would be needed.
    """

    def turned(q: Reals) -> tuple[float, Reals]:
        if factor is None:
            return function(start + q)
        value, gradient = function(start + solve_triangular(factor, q, check_finite=False))
        return value, solve_triangular(factor, gradient, trans="T", check_finite=False)

    q = minimize(
        turned,
        np.zeros(len(start)),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iterations,
            "maxfun": 20 * max_iterations,
            "maxcor": _MEMORY,
            "ftol": tolerance,
            "gtol": 1e-10,
        },
    ).x
    return start + (q if factor is None else solve_triangular(factor, q, check_finite=False))


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The linear head without a penalty, at the one minimum of its loss.

    Attributes:
        theta: (w, b).
        factor: R, upper triangular, R'R the second derivative there; None where there are too many columns.
    """

    theta: Reals
    factor: Reals | None


def plain_model(z: Reals, signs: Reals, weights: Reals, l2: float) -> PlainModel:
    """Minimise Σ weight_i log(1 + exp(-sign_i u_i)) + l2 |w|² over the labelled rows, to the last digits.

    The loss is strictly convex: whatever the machine, the answer is the same to about 1e-9.
    """
    head = LinearHead(z.shape[1])
    function = regularised(head, ParityObjective.without_penalty(signs, weights), z, l2)
    theta = np.zeros(head.size)
    if head.width > WIDEST:
        return PlainModel(minimised(function, theta, max_iterations=10_000, tolerance=0.0), None)
    with_bias = np.hstack([z, np.ones((len(z), 1))])
    ridge = np.diag(np.where(head.biases, _LEAST_CURVATURE, max(2 * l2, _LEAST_CURVATURE)))
    for _ in range(100):
        value, gradient = function(theta)
        share = expit(with_bias @ theta)
        factor = cholesky((with_bias.T * (weights * share * (1 - share))) @ with_bias + ridge, check_finite=False)
        step = cho_solve((factor, False), gradient)
        expected = float(gradient @ step)  # twice what the step gains
        length = 1.0
        # close to the minimum a full step is right, and its gain is lost in rounding
        while expected > 1e-9 and function(theta - length * step)[0] > value - 0.1 * length * expected:
            length /= 2
        theta = theta - length * step
        if expected < 1e-20:
            break
    return PlainModel(theta, factor)
