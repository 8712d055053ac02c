"""What does a propagated folder say about leaks? Correlations of all nodes, probes of a sample, nothing of links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_seed, require_whole
from fairview.attributes import each_and_together
from fairview.data.graph import NodeGraph
from fairview.errors import InputError, command
from fairview.groups import UNKNOWN
from fairview.leakage.cross_validation import FOLDS, SAMPLE, CrossValidated, stratified_sample
from fairview.leakage.findings import ChannelFinding, GraphAudit, ProbeFinding, power
from fairview.leakage.label_leaks import LabelLeak, label_leaks
from fairview.leakage.probe import PROBES, probe_auc, small_note, without_small
from fairview.progress import track
from fairview.propagation.blocks import column_name
from fairview.propagation.correlation import Codes, GroupSums, codes_without_gaps
from fairview.propagation.facts import HeldAttribute, PropagatedFacts
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
    looks = [_look(held) for held in facts.views]
    correlations = _correlations(propagated, [look.places for look in looks], hops)
    shared: dict[str, Any] = {
        "groups": (),
        "operator": facts.operator.kind,
        "self_loops": facts.operator.self_loops,
        "hops": hops,
        "rule": f"No channel is tested: the permutation test {NO_LINKS}.",
        "level": None,
        "permutations": None,
        "shuffling": None,
        "degree_correlation": None,
        "label_leaks": _label_leaks(propagated, label_leak_threshold, seed),
        "label_leak_threshold": label_leak_threshold,
    }
    found = []
    for look, correlation in zip(looks, correlations, strict=True):
        probed = _Probed()
        if probes and look.places is not None:
            probed = _probed(propagated, look.held, look.places, hops, seed)
        own: dict[str, Any] = {
            "graph": _described(propagated, look.held, sha256 or propagated.sha256),
            "homophily": _homophily(look.held),
            "channels": _channels(propagated, look.held, correlation, hops),
            "probes": probed.found,
            "undefined": {**look.undefined, **probed.undefined},
            "notes": (*_notes(facts, look.held), *probed.notes, *_label_notes(facts)),
        }
        found.append(GraphAudit(**shared, **own))
    *others, together = found
    return replace(
        together,
        attributes={each.graph["sensitive"]: each for each in others},
        notes=(*together.notes, *facts.notes),
    )


# --- by one attribute, or by what several make together ---------------------------------------------------------------


@dataclass(frozen=True)
class _Look:
    """The groups of one attribute, or of all together: their codes without gaps, or why there are none."""

    held: HeldAttribute
    places: npt.NDArray[np.int16] | None
    undefined: dict[str, str]


def _look(held: HeldAttribute) -> _Look:
    undefined: dict[str, str] = dict.fromkeys(("degree_correlation", "homophily_by_group"), f"it {NO_LINKS}")
    try:
        places = codes_without_gaps(held.group_sizes, held.name)
    except InputError as error:
        return _Look(held, None, undefined | dict.fromkeys(("correlation", "leaking", "probe"), str(error)))
    return _Look(held, places, undefined | dict.fromkeys(("leaking", "intervals"), f"the permutation test {NO_LINKS}"))


def _is_together(facts: PropagatedFacts, held: HeldAttribute) -> bool:
    """Whether the groups are combinations of several attributes'."""
    return bool(facts.attributes) and held.name == facts.sensitive_name


def _unknown(facts: PropagatedFacts, held: HeldAttribute) -> int:
    return facts.nodes - sum(held.group_sizes.values())


def _notes(facts: PropagatedFacts, held: HeldAttribute) -> list[str]:
    unknown = _unknown(facts, held)
    return [f"{unknown:,} nodes of unknown group are propagated, but in no correlation or probe"] if unknown else []


def _label_notes(facts: PropagatedFacts) -> list[str]:
    if facts.labelled <= SAMPLE:
        return []
    return [f"label leaks were sought in a stratified sample of {SAMPLE:,} labelled nodes"]


def _homophily(held: HeldAttribute) -> Metric:
    if not held.known_groups:
        return Undefined("no edge joins two nodes whose sensitive group is known")
    return held.same_group / held.known_groups


def _correlations(
    propagated: Propagated, places: Sequence[npt.NDArray[np.int16] | None], hops: int
) -> list[Array | None]:
    """As `sensitive_correlation`, of all nodes, (hops + 1, channels), in one pass over them.

    Args:
        propagated: the folder.
        places: of each view of the groups what `codes_without_gaps` gave; None where there are no two groups.
        hops: L.
    """
    channels = propagated.channels
    sums = {
        number: [GroupSums(int(each.max()) + 1, len(channels), bytes_per_number=4) for _ in range(hops + 1)]
        for number, each in enumerate(places)
        if each is not None
    }
    columns = [[column_name(channel, hop) for channel in channels] for hop in range(hops + 1)]
    wanted = [*propagated.facts.group_columns, *(name for each in columns for name in each)]
    with track("Correlating", total=propagated.num_nodes) as advance:
        for frame in propagated.frames(wanted, rows=200_000) if sums else ():
            views = each_and_together(propagated.attributes(frame))
            known = zip(range(len(views)), places, views, strict=True)
            codes = {number: each[view.codes] for number, each, view in known if each is not None}
            for hop, names in enumerate(columns):
                values = frame.select(names).to_numpy().astype(np.float64)
                for number, by_hop in sums.items():
                    by_hop[hop].add(values, codes[number])
            advance(frame.height)
    return [
        np.array([each.correlation() for each in sums[number]]) if number in sums else None
        for number in range(len(places))
    ]


def _channels(
    propagated: Propagated, held: HeldAttribute, correlation: Array | None, hops: int
) -> tuple[ChannelFinding, ...]:
    facts = propagated.facts
    spread = np.diagonal(np.array(facts.moments[0].covariance)) if facts.channels else np.empty(0)
    given: list[dict[str, Any]] = [
        {"name": name, "sensitive": name in held.channels, "constant": bool(spread[j] == 0), "hops": hops}
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


@dataclass(frozen=True)
class _Probed:
    """The probes of each hop, why they are undefined if they are, and whom they did not see."""

    found: tuple[ProbeFinding, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _probed(
    propagated: Propagated, held: HeldAttribute, places: npt.NDArray[np.int16], hops: int, seed: int
) -> _Probed:
    codes: Codes = places[propagated.codes_of(held.name)]
    notes = []
    if _is_together(propagated.facts, held):
        codes, left_out = without_small(codes, [name for name, size in held.group_sizes.items() if size])
        notes += [small_note(left_out)] if left_out else []
    known = np.flatnonzero(codes != UNKNOWN)
    rows = stratified_sample(known, codes, SAMPLE, 2 * FOLDS, np.random.default_rng(seed))
    graph = propagated.graph(rows)
    kept = [j for j, name in enumerate(graph.channels) if name not in held.channels]
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
    seen = [each.nodes for each in found if each.nodes is not None]
    if seen and seen[0] < len(known):
        notes.append(f"probes saw a stratified sample of {seen[0]:,} of {len(known):,} nodes")
    return _Probed(tuple(found), {} if reason is None else {"probe": reason}, tuple(notes))


def _label_leaks(propagated: Propagated, threshold: float, seed: int) -> tuple[LabelLeak, ...] | Undefined:
    labels = propagated.labels()
    known = np.flatnonzero(labels != UNKNOWN)
    rows = stratified_sample(known, labels, SAMPLE, 2 * FOLDS, np.random.default_rng(seed))
    graph: NodeGraph = propagated.graph(rows)
    return label_leaks(graph, threshold=threshold, seed=seed)


def _described(propagated: Propagated, held: HeldAttribute, sha256: str) -> dict[str, Any]:
    facts = propagated.facts
    described = {
        "source": facts.source,
        "sha256": sha256,
        "nodes": facts.nodes,
        "edges": facts.links,
        "directed": facts.directed,
        "weighted": facts.weighted,
        "sensitive": held.name,
        "groups": dict(held.group_sizes),
        "group_unknown": _unknown(facts, held),
        "sensitive_channels": list(held.channels),
    }
    if _is_together(facts, held):
        described["attributes"] = {each.name: dict(each.group_sizes) for each in facts.attributes}
    return described
