"""What does a propagated folder say about leaks? Correlations of all nodes, probes of a sample, nothing of links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_seed, require_whole
from fairview.data.graph import NodeGraph
from fairview.errors import InputError, command
from fairview.groups import UNKNOWN
from fairview.leakage.cross_validation import FOLDS, SAMPLE, CrossValidated, stratified_sample
from fairview.leakage.findings import ChannelFinding, GraphAudit, ProbeFinding, power
from fairview.leakage.label_leaks import LabelLeak, label_leaks
from fairview.leakage.probe import PROBES, probe_auc
from fairview.progress import track
from fairview.propagation.blocks import column_name
from fairview.propagation.correlation import GroupSums, codes_without_gaps
from fairview.propagation.folder import Propagated
from fairview.propagation.operators import Operator
from fairview.undefined import Metric, Undefined

Array = npt.NDArray[np.float64]

NO_LINKS = "needs the links themselves, and a propagated folder holds none"


def audit_folder(
    propagated: Propagated,
    *,
    operator: Operator | None = None,
    hops: int | None = None,
    probes: bool = True,
    label_leak_threshold: float = 0.95,
    hidden: Mapping[str, Any] | None = None,
    seed: int = 0,
    sha256: str | None = None,
) -> GraphAudit:
    """The audit of a folder, in memory that does not grow with it.

    Correlations and homophily are those of all nodes. Probes and label leaks look at a stratified sample, the same
    nodes that the audit of the graph would look at. The permutation test, the correlation of the number of neighbours
    and hidden columns need the links: they are undefined.

    Args:
        propagated: the folder.
        operator: must be the folder's.
        hops: at most as many as the folder holds; all by default.
        probes: also train probes.
        label_leak_threshold: as in `audit`.
        hidden: refused.
        seed: of folds and samples.
        sha256: what the audit says that it is of; by default the folder's manifest.
    """
    facts = propagated.facts
    require_seed(seed)
    if hidden:
        raise InputError(f"hidden: it {NO_LINKS}. Audit the tables themselves, or leave the hidden columns out.")
    if operator is not None and operator != facts.operator:
        raise InputError(
            f"operator: '{operator.kind}'; the folder was made with '{facts.operator.kind}' and "
            f"{facts.operator.self_loops:g} self-loops per node. Make another with "
            f"{command('propagate', operator=operator.kind)}."
        )
    hops = facts.hops if hops is None else require_whole(hops, "hops", least=0, most=facts.hops)
    undefined: dict[str, str] = dict.fromkeys(("degree_correlation", "homophily_by_group"), f"it {NO_LINKS}")
    try:
        places = codes_without_gaps(facts.group_sizes, facts.sensitive_name)
    except InputError as error:
        places = None
        undefined |= dict.fromkeys(("correlation", "leaking", "probe"), str(error))
    else:
        undefined |= dict.fromkeys(("leaking", "intervals"), f"the permutation test {NO_LINKS}")
    correlation = None if places is None else folder_correlation(propagated, places, hops)
    probed: list[ProbeFinding] = []
    notes: list[str] = []
    unknown = facts.nodes - sum(facts.group_sizes.values())
    if unknown:
        notes.append(f"{unknown:,} nodes of unknown group are propagated, but in no correlation or probe")
    if places is not None and probes:
        probed, reason = _probes(propagated, places, hops, seed)
        undefined |= {"probe": reason} if reason else {}
        seen = [each.nodes for each in probed if each.nodes is not None]
        if seen and seen[0] < facts.nodes - unknown:
            notes.append(f"probes saw a stratified sample of {seen[0]:,} of {facts.nodes - unknown:,} nodes")
    if facts.labelled > SAMPLE:
        notes.append(f"label leaks were sought in a stratified sample of {SAMPLE:,} labelled nodes")
    homophily: Metric = Undefined("no edge joins two nodes whose sensitive group is known")
    if facts.known_groups:
        homophily = facts.same_group / facts.known_groups
    return GraphAudit(
        graph=_described(propagated, unknown, sha256 or propagated.sha256),
        homophily=homophily,
        groups=(),
        operator=facts.operator.kind,
        self_loops=facts.operator.self_loops,
        hops=hops,
        rule=f"No channel is tested: the permutation test {NO_LINKS}.",
        level=None,
        permutations=None,
        shuffling=None,
        channels=_channels(propagated, correlation, hops),
        degree_correlation=None,
        probes=tuple(probed),
        label_leaks=_label_leaks(propagated, label_leak_threshold, seed),
        label_leak_threshold=label_leak_threshold,
        undefined=undefined,
        notes=(*notes, *facts.notes),
    )


def folder_correlation(propagated: Propagated, places: npt.NDArray[np.int16], hops: int) -> Array:
    """As `sensitive_correlation`, of all nodes, (hops + 1, channels); `places` is what `codes_without_gaps` gave."""
    channels, groups = propagated.channels, int(places.max()) + 1
    sums = [GroupSums(groups, len(channels), bytes_per_number=4) for _ in range(hops + 1)]
    columns = [[column_name(channel, hop) for channel in channels] for hop in range(hops + 1)]
    with track("Correlating", total=propagated.num_nodes) as advance:
        for frame in propagated.frames(["sensitive", *(name for each in columns for name in each)], rows=200_000):
            codes = places[propagated.codes(frame)]
            for hop, names in enumerate(columns):
                sums[hop].add(frame.select(names).to_numpy().astype(np.float64), codes)
            advance(frame.height)
    return np.array([each.correlation() for each in sums])


def _channels(propagated: Propagated, correlation: Array | None, hops: int) -> tuple[ChannelFinding, ...]:
    facts = propagated.facts
    spread = np.diagonal(np.array(facts.moments[0].covariance)) if facts.channels else np.empty(0)
    given: list[dict[str, Any]] = [
        {"name": name, "sensitive": name in facts.sensitive_channels, "constant": bool(spread[j] == 0), "hops": hops}
        for j, name in enumerate(facts.channels)
    ]
    if correlation is None:
        return tuple(ChannelFinding(**each) for each in given)
    order = np.argsort(-np.abs(correlation), axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable") + 1
    return tuple(
        ChannelFinding(**each, correlation=tuple(correlation[:, j].tolist()), rank=tuple(rank[:, j].tolist()))
        for j, each in enumerate(given)
    )


def _probes(
    propagated: Propagated, places: npt.NDArray[np.int16], hops: int, seed: int
) -> tuple[list[ProbeFinding], str | None]:
    """The probes of each hop, and why they are undefined if they are."""
    codes = places[propagated.sensitive()]
    known = np.flatnonzero(codes != UNKNOWN)
    rows = stratified_sample(known, codes, SAMPLE, 2 * FOLDS, np.random.default_rng(seed))
    graph = propagated.graph(rows)
    kept = [j for j, name in enumerate(graph.channels) if name not in graph.sensitive_channels]
    stored = graph.adjacency.for_channels(kept)
    found, reason = [], None
    with track("Probing", total=(hops + 1) * len(PROBES)) as advance:
        for hop in range(hops + 1):
            values = stored.by_hop[hop].astype(np.float64)  # type: ignore[attr-defined]  # its links are stored ones
            for kind in PROBES:
                auc: CrossValidated | Undefined = probe_auc(values, codes[rows], kind=kind, seed=seed, sample=len(rows))
                reason = auc.reason if isinstance(auc, Undefined) else reason
                found.append(ProbeFinding.of(power(hop), hop, kind, auc))
                advance(1)
    return found, reason


def _label_leaks(propagated: Propagated, threshold: float, seed: int) -> tuple[LabelLeak, ...] | Undefined:
    labels = propagated.labels()
    known = np.flatnonzero(labels != UNKNOWN)
    rows = stratified_sample(known, labels, SAMPLE, 2 * FOLDS, np.random.default_rng(seed))
    graph: NodeGraph = propagated.graph(rows)
    return label_leaks(graph, threshold=threshold, seed=seed)


def _described(propagated: Propagated, unknown: int, sha256: str) -> dict[str, Any]:
    facts = propagated.facts
    return {
        "source": facts.source,
        "sha256": sha256,
        "nodes": facts.nodes,
        "edges": facts.links,
        "directed": facts.directed,
        "weighted": facts.weighted,
        "sensitive": facts.sensitive_name,
        "groups": dict(facts.group_sizes),
        "group_unknown": unknown,
        "sensitive_channels": list(facts.sensitive_channels),
    }
