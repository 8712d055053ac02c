"""Is a request for a tuning in order? Every problem at once, before any work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairview.arguments import require_number, require_seed, require_whole
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, Problems, option
from fairview.groups import UNKNOWN
from fairview.methods.contract import check_trainable
from fairview.methods.encoder_spec import Encoder, encoder_entry
from fairview.methods.estimator import Estimator
from fairview.methods.registry import MethodEntry, resolve_method
from fairview.tuning.limits import Limit, check_confidence, check_utility, read_limits

_MANY_LINKS = 1_000_000
"""Beyond them SAGE, which passes messages in every epoch, takes minutes a model."""


def checked_request(
    max_gap: Any,
    gaps: Any,
    confidence: float,
    utility: str,
    methods: Sequence[Any],
    encoders: Sequence[Encoder],
    trials: Any,
    minutes: float | None,
    workers: int,
    population: str,
    group_at_prediction: bool,
    seed: Any,
    attributes: Sequence[str] = (),
) -> tuple[tuple[Limit, ...], list[MethodEntry]]:
    """Every problem of the request at once."""
    problems = Problems()
    limits: tuple[Limit, ...] = ()
    with problems.collecting():
        limits = read_limits(max_gap, gaps, attributes)
    with problems.collecting():
        check_confidence(confidence)
    with problems.collecting():
        check_utility(utility)
    if population not in ("new", "graph"):
        problems.add(f"{option('population')}: '{population}'; expected 'new' or 'graph'.")
    if trials is not None and minutes is not None:
        problems.add(f"give {option('trials')} or {option('minutes')}, not both.")
    if trials is not None:
        with problems.collecting():
            require_whole(trials, option("trials"), least=0)
    with problems.collecting():
        require_seed(seed, option("seed"))
    if minutes is not None:
        with problems.collecting():
            if require_number(minutes, option("minutes"), "a number above 0") <= 0:
                problems.add(f"{option('minutes')}: {minutes:g}; expected a number above 0.")
    with problems.collecting():
        require_whole(workers, option("workers"), least=1)
    if not methods:
        problems.add(f"{option('methods')}: none are named; expected at least one, such as 'parity'.")
    for encoder in encoders:
        with problems.collecting():
            encoder_entry(encoder)
    entries: list[MethodEntry] = []
    for method in methods:
        with problems.collecting():
            entry = resolve_method(method)
            entries.append(entry)
            _check_method(entry, group_at_prediction)
    if trials == 0 and entries and all(entry.name != "parity" for entry in entries):
        problems.add(f"{option('trials')}: 0; without the method 'parity' there is nothing to try.")
    problems.raise_if_any()
    return limits, list({entry.name: entry for entry in entries}.values())


def encoders_for(encoders: Any, graph: NodeGraph) -> list[Encoder]:
    """The encoders that were named; by default those that a graph of this size can afford."""
    if encoders is None and isinstance(graph.adjacency, StoredLinks):  # SAGE would need the links
        return [{"gcn": "gcn", "sum": "gin"}.get(graph.adjacency.kind, "mlp")]
    if encoders is None:
        return ["gcn", "sage"] if graph.num_edges <= _MANY_LINKS else ["gcn"]
    return list(encoders) if isinstance(encoders, list | tuple) else [encoders]


def _check_method(entry: MethodEntry, group_at_prediction: bool) -> None:
    if entry.group_at_prediction and not group_at_prediction:
        raise InputError(
            f"{option('methods')}: {entry.words} needs each node's group at prediction, which is often not allowed. "
            f"If it is, say so: {option('group_at_prediction', True)}."
        )
    if entry.name != "parity" and not entry.search_space:
        raise InputError(
            f"{option('methods')}: {entry.words} declares no search_space, so that there is nothing to try. Give its "
            "class one, a dictionary from parameters to values, or leave it out."
        )
    if getattr(entry.method, "tensors", Estimator.tensors) is Estimator.tensors:
        raise InputError(
            f"{option('methods')}: {entry.words} can't be saved, and a certificate is for a saved model. Derive it "
            "from fairview.Estimator, and add tensors() and restore(tensors, facts)."
        )


def check_graph(graph: NodeGraph, population: str, limits: Sequence[Limit] = ()) -> None:
    """A split that chooses and certifies, and groups that are known for most of it."""
    check_trainable(graph)
    links = graph.adjacency
    if population == "graph" and isinstance(links, StoredLinks) and links.sampled:
        raise InputError(
            f"{option('population')}: 'graph' counts all nodes; {graph.num_nodes:,} of {links.nodes:,} were loaded. "
            f"Use 'new', or load all of them ({option('rows', links.nodes)})."
        )
    val = graph.split("val") & graph.labelled
    problems = Problems()
    for name in dict.fromkeys(limit.attribute for limit in limits) or [None]:
        codes = (graph if name is None else graph.attribute(name)).sensitive
        known = int((codes[val] != UNKNOWN).sum())
        if 2 * known < int(val.sum()):
            which = "" if name is None else f" by {name}"
            problems.add(
                f"tune: the group{which} is known for {known:,} of {int(val.sum()):,} val nodes; a certificate would "
                "speak for those only, who may differ from the rest. Fill in more groups, or leave the other nodes out."
            )
    problems.raise_if_any()
