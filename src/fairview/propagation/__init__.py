"""NodeGraph -> S X: normalised operators, any number of hops."""

from fairview.propagation.operators import OPERATORS, Operator, propagate

__all__ = ["OPERATORS", "Operator", "propagate"]
