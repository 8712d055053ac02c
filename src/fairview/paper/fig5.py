"""Figure 5: the first 13 channels' correlation with the sensitive attribute, hop by hop, and the graph's homophily."""

from __future__ import annotations

from typing import Any

from fairview.paper.correlations import correlation_series
from fairview.paper.scope import Scope

CHANNELS, HOPS = 13, 4

NOTES = ("The paper's Credit has homophily 0.9595; the small graph is another one.",)


def series(scope: Scope) -> list[dict[str, Any]]:
    """Its curves."""
    return correlation_series(scope, channels=CHANNELS, hops=HOPS)
