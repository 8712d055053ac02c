"""Which links, nodes and channels carry the gap of a fitted model?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_number, require_seed, require_whole, shortened
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.splits import with_default_split
from fairview.data.summary import describe_graph
from fairview.errors import InputError
from fairview.explanation.contrast import widest_contrast
from fairview.explanation.explanation import EveryLink, Explanation, KindEffect, LinkEffect, NodeEffect
from fairview.explanation.links import LinkList, Places, Reals
from fairview.explanation.removal import Trial
from fairview.explanation.score import ChannelEffect
from fairview.explanation.score_of import links_seen, score_of
from fairview.groups import UNKNOWN
from fairview.isolation import isolated
from fairview.leakage.model_audit import encoder_name, method_name
from fairview.methods.contract import Method
from fairview.methods.network_method import NetworkMethod
from fairview.progress import track
from fairview.propagation.kinds import ITSELF
from fairview.training.machine import torch_threads

SHARES = (0.01, 0.05, 0.1)
"""Of the links: how many are removed together."""

DRAWS = 3
"""Of as many others."""

_MOST_CHECKED = 5
"""Times as many links as are shown are removed one by one, at most, where effects are not exact."""

_NODES_TRIED = 2
"""Times as many nodes as are shown lose all their links, because the estimates that say which are not exact."""


@isolated()
def explain(
    model: Method,
    graph: NodeGraph,
    *,
    top: int = 20,
    split: str = "all",
    attribute: str | None = None,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
    seed: int = 0,
) -> Explanation:
    """How much each link, node and channel adds to the difference between two groups' mean logits, without refitting.

    For one-layer models of GCN and GIN, with kinds of links or without, and for Parity with one hop, the effect of
    every link is exact, from one pass over the links. For others it is estimated, and the links that are shown are
    checked by removing them one by one.

    Args:
        model: fitted, with an encoder that looks at links (gcn, gin, sage, or a module of your own that takes
            `edge_weight`); an ensemble of such; or Parity with hops and a linear head.
        graph: whose links, nodes and groups are asked about.
        top: how many links and nodes are shown; `to_frame` has all links.
        split: whose nodes the groups' mean logits are taken over: `all`, `train`, `val` or `test`.
        attribute: of several sensitive attributes, the one whose groups are compared; by default the groups that they
            make together.
        shares: of the links, which are removed together.
        draws: of as many links at random, within groups and between groups, to compare with.
        seed: of these draws.

    Raises:
        InputError: there is no gap (fewer than two groups), there are no links, or the model's score can't be followed
            to them.

    Example:
        >>> import fairview as fv
        >>> graph = fv.load_dataset("german")
        >>> found = fv.explain(fv.Vanilla(epochs=50).fit(graph), graph)
        >>> found.exact, sorted(found.groups), len(found.links)
        (True, ['Female', 'Male'], 20)
    """
    require_graph(graph, "explain")
    top, draws, seed = require_whole(top, "top", least=1), require_whole(draws, "draws", least=1), require_seed(seed)
    shares = _checked_shares(shares)
    whole, _ = with_default_split(graph)
    graph = whole if attribute is None else whole.attribute(attribute)
    chosen = graph.split(split)
    score = score_of(model, graph)
    threshold = float(getattr(model, "threshold_", 0.5))
    with torch_threads(model.thread_count(graph)) if isinstance(model, NetworkMethod) else nullcontext():
        links = LinkList.of(links_seen(model, whole))
        logits = score.logits(links.adjacency)
        contrast = widest_contrast(logits, graph.sensitive, graph.groups, chosen, graph.sensitive_name)
        evaluated = split if split != "all" else "test" if "test" in graph.splits else "all"
        trial = Trial(score, links, contrast, graph, logits, graph.split(evaluated), threshold)
        parts = score.parts(links, contrast.weights)
        found = (_Effects.exactly if score.exact else _Effects.checked)(trial, parts.links, top)
        nodes = _nodes(trial, graph, parts.nodes, top)
        kinds = _kinds(trial, parts.kinds)
        closing = _closing(found.effects, trial.gap)
        sizes = _sizes(found.effects, top, shares, closing)
        removed = trial.removals(found.effects, sizes, draws=draws, seed=seed)
    return Explanation(
        graph=describe_graph(whole),
        method=method_name(model),
        encoder=encoder_name(model),
        sensitive=graph.sensitive_name,
        groups=contrast.groups,
        counts=contrast.nodes,
        gap=trial.gap,
        split=split,
        evaluated=evaluated,
        threshold=threshold,
        exact=score.exact,
        num_links=len(links),
        widening=int((found.effects > 0).sum()),
        closing=closing,
        links=_shown(graph, links, found),
        nodes=nodes,
        channels=tuple(sorted(parts.channels, key=lambda each: -abs(each.gap))),
        kinds=kinds,
        removed=tuple(removed),
        notes=(score.how, *found.notes, *_notes(graph, chosen, parts.channels, trial.gap)),
        every=EveryLink(links.source, links.target, found.effects, graph.ids, links.kinds),
    )


def _checked_shares(shares: Sequence[float]) -> list[float]:
    expected = "shares of the links, each above 0 and at most 1"
    if not isinstance(shares, list | tuple):
        raise InputError(f"shares: {shortened(shares)}; expected {expected}.")
    found = [require_number(share, "shares", expected) for share in shares]
    for share in found:
        if not 0 < share <= 1:
            raise InputError(f"shares: {share!r}; expected {expected}.")
    return found


@dataclass(frozen=True, eq=False)
class _Effects:
    """The effect of every link, and the links to show, the most widening first.

    Attributes:
        effects: of all links; exact, or checked by removal for those that are shown.
        shown: their places.
        estimates: what was there before the check; None if the effects are exact.
        notes: how far the estimates were off.
    """

    effects: Reals
    shown: Places
    estimates: Reals | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def exactly(cls, _: Trial, effects: Reals, top: int) -> _Effects:
        return cls(effects, np.argsort(-effects, kind="stable")[:top])

    @classmethod
    def checked(cls, trial: Trial, estimates: Reals, top: int) -> _Effects:
        """Remove the links with the largest estimates one by one, until those on top have been removed."""
        effects, seen = estimates.copy(), np.zeros(len(estimates), dtype=np.bool_)
        with track("Removing links one by one", total=_MOST_CHECKED * top) as advance:
            while seen.sum() < _MOST_CHECKED * top:
                front = np.argsort(-effects, kind="stable")[:top]
                if not len(new := front[~seen[front]]):
                    break
                for place in new:
                    effects[place] = trial.effect(np.array([place]))
                    advance(1)
                seen[new] = True
        removed = np.flatnonzero(seen)
        shown = removed[np.argsort(-effects[removed], kind="stable")][:top]
        off = np.median(np.abs(effects[removed] - estimates[removed]))
        size = np.median(np.abs(effects[removed]))
        note = (
            f"{len(removed):,} links were removed one by one: their effect is {size:.3g} at the median, and the "
            f"estimate was off by {off:.3g}."
        )
        return cls(effects, shown, estimates, (note,))


def _shown(graph: NodeGraph, links: LinkList, found: _Effects) -> tuple[LinkEffect, ...]:
    kinds = links.kinds
    return tuple(
        LinkEffect(
            source=graph.ids[source],
            target=graph.ids[target],
            effect=float(found.effects[place]),
            estimate=None if found.estimates is None else float(found.estimates[place]),
            source_group=_group(graph, source),
            target_group=_group(graph, target),
            kind=None if kinds is None else kinds.names[kinds.codes[place]],
        )
        for place in found.shown.tolist()
        for source, target in [(int(links.source[place]), int(links.target[place]))]
    )


def _nodes(trial: Trial, graph: NodeGraph, estimates: Reals, top: int) -> tuple[NodeEffect, ...]:
    """What removing all of a node's links does, for those with the largest estimates."""
    found = []
    for node in np.argsort(-estimates, kind="stable")[: _NODES_TRIED * top].tolist():
        own = trial.links.at(node)
        if len(own):
            found.append(NodeEffect(graph.ids[node], trial.effect(own), len(own), _group(graph, node)))
    return tuple(sorted(found, key=lambda each: -each.effect)[:top])


def _kinds(trial: Trial, gaps: Mapping[str, float]) -> tuple[KindEffect, ...]:
    """What removing all links of a kind does, beside the part of the gap that comes over them."""
    kinds = trial.links.kinds
    if kinds is None:
        return ()
    found = []
    for code, name in enumerate(kinds.names):
        own = np.flatnonzero(kinds.codes == code)
        found.append(KindEffect(name, len(own), gaps.get(name), trial.effect(own)))
    return (*found, KindEffect(ITSELF, 0, gaps.get(ITSELF), None))


def _closing(effects: Reals, gap: float) -> int | None:
    """How many of the most widening links add up to the gap; None if all of them together do not."""
    together = np.cumsum(np.sort(effects[effects > 0])[::-1])
    place = int(np.searchsorted(together, gap))
    return place + 1 if gap > 0 and place < len(together) else None


def _sizes(effects: Reals, top: int, shares: Sequence[float], closing: int | None) -> list[int]:
    """How many links to remove together, as far as links widen the gap at all."""
    sizes = {top, closing or top, *(max(1, round(share * len(effects))) for share in shares)}
    return sorted(size for size in sizes if size <= (effects > 0).sum())


def _group(graph: NodeGraph, node: int) -> str | None:
    code = int(graph.sensitive[node])
    return None if code == UNKNOWN else graph.groups[code]


def _notes(graph: NodeGraph, chosen: npt.NDArray[np.bool_], channels: Sequence[ChannelEffect], gap: float) -> list[str]:
    notes = []
    if unknown := int((chosen & (graph.sensitive == UNKNOWN)).sum()):
        notes.append(f"In no group's mean, because their group is not known: {unknown:,} nodes.")
    if any(each.home is None for each in channels):
        total = sum(each.gap for each in channels)
        if not math.isclose(total, gap, rel_tol=1e-6):
            notes.append(
                f"The channels' parts are gradients times values: they add up to {total:.3g}, the gap is {gap:.3g}."
            )
    return notes
