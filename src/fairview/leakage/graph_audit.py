"""What does a graph leak? Correlations by channel and hop, verdicts, probes, label leaks and homophily in one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_number, require_seed, require_whole
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, did_you_mean
from fairview.isolation import isolated
from fairview.leakage.cross_validation import NORMAL_QUANTILE, SAMPLE, CrossValidated
from fairview.leakage.findings import ChannelFinding, GraphAudit, ProbeFinding, power
from fairview.leakage.folder_audit import audit_folder
from fairview.leakage.hidden_columns import hidden_findings
from fairview.leakage.label_leaks import label_leaks
from fairview.leakage.leaks import LeakTest, check_permutations, leak_rule, leak_test
from fairview.leakage.places import group_places
from fairview.leakage.probe import PROBES, probe_auc
from fairview.progress import track
from fairview.propagation.correlation import Codes, group_correlation, known_groups, sensitive_correlation
from fairview.propagation.folder import Propagated
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import OPERATORS, Operator
from fairview.undefined import Undefined

__all__ = ["GraphAudit", "audit"]

INNOCUOUS = 0.05
"""|correlation| below which a channel counts as innocuous, however many nodes make it significant."""

MOST_HOPS = 10

Array = npt.NDArray[np.float64]
Probed = tuple[int, str, CrossValidated | Undefined]


@isolated()
def audit(
    graph: NodeGraph | Propagated,
    *,
    operator: str | Operator | None = None,
    hops: int | None = None,
    permutations: int = 500,
    level: float = 0.05,
    innocuous: float = INNOCUOUS,
    probes: bool = True,
    label_leak_threshold: float = 0.95,
    hidden: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> GraphAudit:
    """How propagation leaks the sensitive attribute into channels, and which channels give the label away.

    Paper: section 3, figures 1 and 5, appendix D for the correlations; verdicts, intervals and probes are our own.

    Args:
        graph: any; what can't be said about it is undefined, with the reason. A propagated folder is read some nodes at
            a time; the tests that need its links are undefined.
        operator: `gcn`, `mean` or `sum`, or an `Operator` with its own number of self-loops [default: `gcn`, or the
            folder's].
        hops: L; channels are followed over 0 to L hops [default: 2, or as many as the folder holds].
        permutations: shuffles behind the p-values.
        level: chance of naming a leak in a graph that has none.
        innocuous: |correlation| below which a channel is harmless, whatever its p-value.
        probes: also train probes that read the sensitive attribute off X, S X, ...; they take most of the time.
        label_leak_threshold: AUC of a single channel above which it is said to give the label away.
        hidden: columns that are no channels, {name: a value for each node}: can they be read from the graph? Numbers,
            or texts with a few values; None and NaN are unknown.
        seed: of shuffles, folds and samples.

    Example:
        >>> from fairview.data.synthetic.generator import synthetic_graph
        >>> audit(synthetic_graph(2000, seed=1), permutations=99, probes=False).leaking
        ('leak_strong',)
    """
    check_permutations(permutations, level)
    if isinstance(graph, Propagated):
        return audit_folder(
            graph,
            operator=None if operator is None else _operator(operator),
            hops=hops,
            probes=probes,
            label_leak_threshold=label_leak_threshold,
            hidden=hidden,
            seed=seed,
        )
    require_graph(graph, "audit")
    if isinstance(graph.adjacency, StoredLinks):
        raise InputError(
            "audit: the graph was loaded from a propagated folder; audit that: fv.open_propagated(folder)."
        )
    chosen = _operator("gcn" if operator is None else operator)
    hops = require_whole(2 if hops is None else hops, "hops", least=1, most=MOST_HOPS)
    require_number(innocuous, "innocuous", correlation := "a correlation from 0 on, below 1")
    if not 0 <= innocuous < 1:
        raise InputError(f"innocuous: {innocuous}; expected {correlation}.")
    require_seed(seed)
    read = hidden_findings(graph, hidden or {}, hops=hops, seed=seed)
    undefined: dict[str, str] = {}
    try:
        codes: Codes | None = known_groups(graph)
    except InputError as error:
        codes = None
        undefined |= dict.fromkeys(("correlation", "leaking", "probe"), str(error))
    degree = None if codes is None else _degree_correlation(graph, chosen, hops, codes)
    probed = [] if codes is None or not probes else _probe(graph, chosen, hops, codes, seed)
    notes = _notes(graph, degree, innocuous, [auc.nodes for _, _, auc in probed if not isinstance(auc, Undefined)])
    for _, _, auc in probed:
        if isinstance(auc, Undefined):
            undefined["probe"] = auc.reason  # it is about the groups or the channels, and the same for all
    channels = _channels(graph, chosen, hops, codes, permutations, level, innocuous, seed, undefined)
    return GraphAudit(
        graph=_facts(graph),
        homophily=graph.homophily(),
        groups=group_places(graph),
        operator=chosen.kind,
        self_loops=chosen.self_loops,
        hops=hops,
        rule=leak_rule(level, innocuous, permutations),
        level=level,
        permutations=permutations,
        channels=channels,
        degree_correlation=degree,
        probes=tuple(ProbeFinding.of(power(hop), hop, kind, auc) for hop, kind, auc in probed),
        label_leaks=label_leaks(graph, threshold=label_leak_threshold, seed=seed),
        label_leak_threshold=label_leak_threshold,
        hidden=read,
        undefined=undefined,
        notes=(*notes, *graph.provenance.notes),
    )


def _operator(operator: str | Operator) -> Operator:
    if isinstance(operator, Operator):
        return operator
    if operator not in OPERATORS:
        raise InputError(f"operator: no '{operator}'.{did_you_mean(str(operator), OPERATORS)}")
    return Operator(kind=operator)  # type: ignore[arg-type]  # checked above


def _facts(graph: NodeGraph) -> dict[str, Any]:
    return {
        "source": graph.provenance.source,
        "sha256": graph.sha256,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "directed": graph.adjacency.directed,
        "weighted": graph.adjacency.weighted,
        "sensitive": graph.sensitive_name,
        "groups": graph.group_sizes,
        "group_unknown": graph.sensitive_unknown,
        "sensitive_channels": list(graph.sensitive_channels),
    }


def _notes(graph: NodeGraph, degree: tuple[float, ...] | None, innocuous: float, probed: list[int]) -> list[str]:
    notes = []
    if graph.sensitive_unknown:
        unknown = f"{graph.sensitive_unknown:,} nodes of unknown group"
        notes.append(f"{unknown} are propagated, but in no correlation or probe")
    known = graph.num_nodes - graph.sensitive_unknown
    chance = 3 * math.sqrt(
        max(len(graph.groups) - 1, 0) / max(known, 1)
    )  # three standard errors of no correlation at all
    if degree is not None and max(map(abs, degree)) >= max(innocuous, chance):
        values = ", ".join(f"{value:.3f}" for value in degree)
        notes.append(
            f"the number of neighbours alone is tied to the group: a constant channel would have correlation {values} "
            "at hops 0, 1, ...; every channel with a mean far from 0 picks up part of it"
        )
    if probed and min(probed) < known:
        notes.append(f"probes saw a stratified sample of {min(probed):,} of {known:,} nodes")
    if int(graph.labelled.sum()) > SAMPLE:
        notes.append(f"label leaks were sought in a stratified sample of {SAMPLE:,} labelled nodes")
    return notes


# --- channels ---------------------------------------------------------------------------------------------------------


def _channels(
    graph: NodeGraph,
    operator: Operator,
    hops: int,
    codes: Codes | None,
    permutations: int,
    level: float,
    innocuous: float,
    seed: int,
    undefined: dict[str, str],
) -> tuple[ChannelFinding, ...]:
    """What is known of each channel; a reason for missing intervals goes into `undefined`."""
    is_sensitive = np.array([name in graph.sensitive_channels for name in graph.channels], dtype=np.bool_)
    facts: list[dict[str, Any]] = [
        {"name": name, "sensitive": bool(is_sensitive[j]), "constant": name in graph.constant_channels, "hops": hops}
        for j, name in enumerate(graph.channels)
    ]
    if codes is None:
        return tuple(ChannelFinding(**each) for each in facts)
    correlation = sensitive_correlation(graph, operator, hops)
    test = leak_test(
        graph.features, graph.adjacency, codes,
        operator=operator, hops=hops, permutations=permutations, seed=seed, tested=~is_sensitive,
    )  # fmt: skip
    leaking = test.leaking(correlation, level=level, innocuous=innocuous) & ~is_sensitive
    bounds = correlation_intervals(correlation, test, codes)
    order = np.argsort(-np.abs(correlation), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable") + 1
    by_hop = {"correlation": correlation, "rank": rank, "p_value": test.p_value, "leak_p_value": test.leak_p_value}
    if isinstance(bounds, Undefined):
        undefined["intervals"] = bounds.reason
    else:
        by_hop |= {"low": bounds[0], "high": bounds[1]}
    channels = []
    for j, each in enumerate(facts):
        measured = {name: tuple(values[:, j].tolist()) for name, values in by_hop.items()}
        untested = {"leak_p_value": None} if is_sensitive[j] else {}
        channels.append(ChannelFinding(**each | measured | untested, leaking=bool(leaking[j])))
    return tuple(channels)


def correlation_intervals(correlation: Array, test: LeakTest, codes: Codes) -> tuple[Array, Array] | Undefined:
    """95 % intervals, tanh(artanh ρ ± 1.96 max(sd over the shuffles, 1 / sqrt(n - 3))), as (low, high).

    Fisher's interval takes 1 / sqrt(n - 3) for the spread, as if the n values were independent. After a hop they are
    not: neighbours share terms, and the spread over the shuffles knows that. It does not know of channels whose own
    values are alike among neighbours: for those the interval is too narrow, at hop 0 most of all.
    """
    if codes.max() > 1:
        return Undefined("the correlations have intervals with two groups only")
    n = int((codes >= 0).sum())
    if n <= 3:
        return Undefined(f"{n} nodes of known group are too few for an interval")
    reach = NORMAL_QUANTILE * np.maximum(test.spread, 1 / math.sqrt(n - 3))
    middle = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    return np.tanh(middle - reach), np.tanh(middle + reach)


def _degree_correlation(graph: NodeGraph, operator: Operator, hops: int, codes: Codes) -> tuple[float, ...]:
    """The correlation that a constant channel gets: what the number of neighbours alone betrays."""
    values: npt.NDArray[Any] = np.ones((graph.num_nodes, 1))
    hop = one_hop(graph.adjacency, operator)
    correlations = [0.0]
    for _ in range(hops):
        values = hop(values)
        correlations.append(float(group_correlation(values, codes)[0]))
    return tuple(correlations)


# --- probes -----------------------------------------------------------------------------------------------------------


def _probe(graph: NodeGraph, operator: Operator, hops: int, codes: Codes, seed: int) -> list[Probed]:
    """(hop, kind, AUC) for each matrix and probe, the sensitive channels left out."""
    values: npt.NDArray[Any] = graph.without_channels(graph.sensitive_channels).features.astype(np.float64)
    hop = one_hop(graph.adjacency, operator)
    probed: list[Probed] = []
    with track("Probing", total=(hops + 1) * len(PROBES)) as advance:
        for number in range(hops + 1):
            values = hop(values) if number else values
            for kind in PROBES:
                probed.append((number, kind, probe_auc(values, codes, kind=kind, seed=seed)))
                advance(1)
    return probed
