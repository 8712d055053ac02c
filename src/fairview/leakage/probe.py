"""How well can the sensitive attribute be read off a matrix? The AUC of a model that is trained to do just that.

0.5 means that this probe found nothing, not that there is nothing: another model might.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import compress
from typing import Any, Literal, get_args

import numpy as np

from fairview.errors import InputError, did_you_mean
from fairview.groups import UNKNOWN
from fairview.leakage.cross_validation import FOLDS, SAMPLE, Codes, CrossValidated, Features, cross_validated_auc
from fairview.undefined import Undefined

ProbeKind = Literal["linear", "nonlinear"]
PROBES: tuple[ProbeKind, ...] = get_args(ProbeKind)

FEWEST = 2 * FOLDS
"""Nodes of a group below which its AUC is undefined."""


def probe_auc(
    features: Features, codes: Codes, *, kind: ProbeKind, seed: int = 0, sample: int = SAMPLE
) -> CrossValidated | Undefined:
    """The AUC with which a probe tells the groups apart, on nodes it was not fitted on.

    `linear` is a logistic regression on standardised columns, `nonlinear` are 100 boosted trees of eight leaves,
    held back (rate 0.05, L2 penalty 10) so that a few hundred nodes don't lead them astray. More than two groups: the
    mean AUC of each group against the rest.

    Args:
        features: any matrix with a row for each node: X, S X, a model's representations.
        codes: the group of each node; -1 is unknown and left out.
        kind: `linear` or `nonlinear`.
        seed: of the folds, which are stratified by group, and of the sample.
        sample: nodes to use at most, drawn stratified by group.

    Returns:
        The AUC, its 95 % interval and the number of nodes; `Undefined` if a group has fewer than two nodes in a fold,
        or if there is no column.

    Example:
        >>> import numpy as np
        >>> codes = np.arange(100) % 2
        >>> probe_auc(codes[:, None] + 0.0, codes, kind="linear").auc
        1.0
    """
    if kind not in PROBES:
        raise InputError(f"probe: no '{kind}'.{did_you_mean(kind, PROBES)}")

    make = _linear if kind == "linear" else partial(_nonlinear, seed)
    return cross_validated_auc(make, features, codes, seed=seed, sample=sample)


def without_small(codes: Codes, groups: Sequence[str]) -> tuple[Codes, tuple[str, ...]]:
    """Codes in which nobody is in a group that is too small for a probe, and the names of these groups.

    Of combinations of groups one tiny one would leave all of them unprobed.

    Example:
        >>> import numpy as np
        >>> codes, left_out = without_small(np.repeat([0, 1, 2], [10, 9, 30]), ("a", "b", "c"))
        >>> np.unique(codes).tolist(), left_out
        ([-1, 0, 2], ('b',))
    """
    sizes = np.bincount(codes[codes != UNKNOWN], minlength=len(groups))
    small = np.append((sizes > 0) & (sizes < FEWEST), False)
    return np.where(small[codes], UNKNOWN, codes), tuple(compress(groups, small))


def small_note(groups: Sequence[str]) -> str:
    """That these combinations are left out."""
    one = len(groups) == 1
    return (
        f"{len(groups):,} combination{'' if one else 's'} of groups with fewer than {FEWEST} nodes "
        f"{'is' if one else 'are'} left out of the probes: {', '.join(groups)}"
    )


def _linear() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))


def _nonlinear(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.05,
        max_leaf_nodes=8,
        l2_regularization=10.0,
        early_stopping=False,
        random_state=seed,
    )
