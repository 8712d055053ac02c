"""Which methods are there? A closed list: a model file can name nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fairview.methods.constant import Constant
from fairview.methods.edits import EDITS
from fairview.methods.estimator import Estimator
from fairview.methods.fairgnn import FairGNN
from fairview.methods.fairvgnn import FairVGNN
from fairview.methods.gradient_boosting import GradientBoosting
from fairview.methods.logistic_regression import LogisticRegression
from fairview.methods.masking import Masking
from fairview.methods.nifty import NIFTY
from fairview.methods.vanilla import Vanilla

METHODS: Mapping[str, type[Estimator]] = MappingProxyType(
    {
        "fairvgnn": FairVGNN,
        "vanilla": Vanilla,
        "constant": Constant,
        "logistic-regression": LogisticRegression,
        "gradient-boosting": GradientBoosting,
        "fairgnn": FairGNN,
        "masking": Masking,
        "nifty": NIFTY,
        "edits": EDITS,
    }
)


def name_of(model: Estimator) -> str:
    """The name of a model's method."""
    return next(name for name, method in METHODS.items() if type(model) is method)
