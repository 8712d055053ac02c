"""Which numbers is a verdict on a model made of? One run's, or means and envelopes over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fairview.metrics.registry import METRICS
from fairview.report.documents import EvaluationDocument, GroupRow, GroupsRow, MetricsRow
from fairview.report.folder import Content


@dataclass(frozen=True)
class Measured:
    """The numbers that a verdict on a model is made of: one run's, or the mean and the envelope of several."""

    row: MetricsRow
    groups: list[GroupRow]
    nodes: int | None
    runs: int
    pairs: dict[str, tuple[str, float]] = field(default_factory=dict)
    attributes: dict[str, MetricsRow] = field(default_factory=dict)


def measure(content: Content) -> Measured | None:
    """The test metrics; over several runs means, and from the lowest to the highest end of their intervals."""
    tests, model = content.tests, content.model
    if not tests:
        if model is None or not model.rows:
            return None
        nodes = sum(group.nodes for group in model.groups) or None
        return Measured(model.rows[0], model.groups, nodes, 1, attributes=dict(model.rows[0].attributes))
    test = content.test or tests[0]
    groups = model.groups if model and model.groups else test.groups
    row: MetricsRow = test if len(tests) == 1 else _envelope(tests)
    pairs = _widest_pairs(test) if len(tests) == 1 else {}  # each run may have another one
    names = [name for name in test.attributes if all(name in each.attributes for each in tests)]
    attributes: dict[str, MetricsRow] = {}
    for name in names:
        rows = [each.attributes[name] for each in tests]
        attributes[name] = rows[0] if len(rows) == 1 else _envelope(rows)
    return Measured(row, groups, test.nodes, len(tests), pairs, attributes)


def _envelope(tests: Sequence[MetricsRow]) -> MetricsRow:
    """Mean over runs; an undefined value in one of them leaves the mean undefined."""
    means: dict[str, object] = {}
    intervals: dict[str, object] = {}
    undefined: dict[str, str] = {}
    for name in METRICS:
        numbers = [value for test in tests if (value := test.value(name)) is not None]
        bounds = [interval for test in tests if (interval := test.interval(name)) is not None]
        means[name] = sum(numbers) / len(numbers) if len(numbers) == len(tests) else None
        if len(bounds) == len(tests):
            intervals[name] = {"low": min(low for low, _ in bounds), "high": max(high for _, high in bounds)}
        if means[name] is None:
            undefined[name] = next((t.undefined[name] for t in tests if name in t.undefined), "not known in every run")
    return MetricsRow.model_validate(means | {"intervals": intervals, "undefined": undefined})


def _widest_pairs(test: EvaluationDocument) -> dict[str, tuple[str, float]]:
    """With more than two groups: between which two the gap is largest, and how large.

    With several attributes, that is a pair of groups of the attribute with the largest gap, or of combinations that are
    large enough for it.
    """
    widest_pairs = {}
    for metric in test.pairs:
        row: GroupsRow = test.attributes.get(largest(test.attributes, metric), test)
        pairs, small = row.pairs.get(metric, []), row.left_out.get(metric, [])
        defined = [
            pair
            for pair in pairs
            if pair.gap is not None and len(pair.groups) == 2 and not any(group in small for group in pair.groups)
        ]
        if len(pairs) > 1 and defined:
            widest = max(defined, key=lambda pair: pair.gap or 0.0)
            widest_pairs[metric] = f"{widest.groups[0]} and {widest.groups[1]}", widest.gap or 0.0
    return widest_pairs


def largest(attributes: Mapping[str, MetricsRow], metric: str) -> str:
    """Which attribute has the largest gap: the first of those that have it; empty where none has one.

    Example:
        >>> rows = {"race": MetricsRow.model_validate({"statistical_parity_gap": 0.1}), "sex": MetricsRow()}
        >>> largest(rows, "statistical_parity_gap"), largest({}, "statistical_parity_gap")
        ('race', '')
    """
    known = {name: value for name, row in attributes.items() if (value := row.value(metric)) is not None}
    return max(known, key=lambda name: known[name], default="")
