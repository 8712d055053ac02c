"""What does a graph leak? Correlations by channel and hop, verdicts, probes, label leaks and homophily in one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview.arguments import require_number, require_seed, require_whole
from fairview.data.graph import NodeGraph
from fairview.data.graph_argument import require_graph
from fairview.data.stored_links import StoredLinks
from fairview.data.summary import describe_graph
from fairview.errors import InputError, did_you_mean, some
from fairview.isolation import isolated
from fairview.leakage.channel_findings import Asked, Channels, channel_findings
from fairview.leakage.cross_validation import SAMPLE, CrossValidated
from fairview.leakage.findings import GraphAudit, ProbeFinding, power
from fairview.leakage.folder_audit import audit_folder
from fairview.leakage.hidden_columns import hidden_findings
from fairview.leakage.label_leaks import label_leaks
from fairview.leakage.leaks import LeakTest, Shuffling, check_permutations, check_shuffling, leak_rule
from fairview.leakage.places import group_places
from fairview.leakage.probe import PROBES, probe_auc, small_note, without_small
from fairview.leakage.quick_null import PROPAGATED, TOLERANCE
from fairview.leakage.sentences import plural
from fairview.progress import track
from fairview.propagation.correlation import Codes, group_correlation, known_groups
from fairview.propagation.folder import Propagated
from fairview.propagation.one_hop import one_hop
from fairview.propagation.operators import OPERATORS, Operator
from fairview.undefined import Undefined

__all__ = ["GraphAudit", "audit"]

INNOCUOUS = 0.05
"""|correlation| below which a channel counts as innocuous, however many nodes make it significant."""

MOST_HOPS = 10

Probed = tuple[int, str, CrossValidated | Undefined]


@isolated()
def audit(
    graph: NodeGraph | Propagated,
    *,
    operator: str | Operator | None = None,
    hops: int | None = None,
    permutations: int = 500,
    shuffling: Shuffling = "auto",
    level: float = 0.05,
    innocuous: float = INNOCUOUS,
    probes: bool = True,
    label_leak_threshold: float = 0.95,
    hidden: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> GraphAudit:
    """How propagation leaks the sensitive attribute into channels, and which channels give the label away.

    With several sensitive attributes, `attributes` has the audit of each; everything else is about the combinations of
    their groups. The permutation test counts the channels and hops of all of them.

    Paper: section 3, figures 1 and 5, appendix D for the correlations; verdicts, intervals and probes are our own.

    Args:
        graph: any; what can't be said about it is undefined, with the reason. A propagated folder is read some nodes at
            a time; the tests that need its links are undefined.
        operator: `gcn`, `mean` or `sum`, or an `Operator` with its own number of self-loops [default: `gcn`, or the
            folder's].
        hops: L; channels are followed over 0 to L hops [default: 2, or as many as the folder holds].
        permutations: shuffles behind the p-values.
        shuffling: `exact` propagates every shuffle; `quick` multiplies them with vectors that are propagated once, and
            propagates those of channels for which that is too coarse; `auto` is `exact` unless that takes long.
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
    check_shuffling(shuffling)
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
    asked = Asked(
        operator=chosen, hops=hops, permutations=permutations, shuffling=shuffling,
        level=level, innocuous=innocuous, seed=seed,
    )  # fmt: skip
    read = hidden_findings(graph, hidden or {}, hops=hops, seed=seed)
    views = [graph]
    if graph.several:
        views += [graph.attribute(each.name) for each in graph.attributes]
    looks = [_look(view, asked, probes=probes) for view in views]
    found = channel_findings([(look.graph, look.codes) for look in looks], asked)
    quick = any(each.test is not None and bool(each.test.quick.any()) for each in found)
    shared: dict[str, Any] = {
        "operator": chosen.kind,
        "self_loops": chosen.self_loops,
        "hops": hops,
        "rule": leak_rule(level, innocuous, permutations, quick=quick, several=graph.several),
        "level": level,
        "permutations": permutations,
        "shuffling": "quick" if quick else "exact",
        "label_leaks": label_leaks(graph, threshold=label_leak_threshold, seed=seed),
        "label_leak_threshold": label_leak_threshold,
        "hidden": read,
    }
    together, *others = [
        GraphAudit(**shared, **_of(look, channels, innocuous)) for look, channels in zip(looks, found, strict=True)
    ]
    return dataclasses.replace(
        together,
        attributes={each.graph["sensitive"]: each for each in others},
        notes=(*together.notes, *graph.provenance.notes),
    )


# --- by one attribute, or by what several make together ---------------------------------------------------------------


@dataclass(frozen=True)
class _Look:
    """A graph by the groups of one attribute: codes without gaps, and what the probes read; or why not."""

    graph: NodeGraph
    codes: Codes | None
    undefined: dict[str, str]
    degree: tuple[float, ...] | None
    probed: list[Probed]
    nodes: int = 0  # that the probes may see
    left_out: tuple[str, ...] = ()


def _look(graph: NodeGraph, asked: Asked, *, probes: bool) -> _Look:
    try:
        codes: Codes = known_groups(graph)
    except InputError as error:
        undefined = dict.fromkeys(("correlation", "leaking", "probe"), str(error))
        return _Look(graph, None, undefined, None, [])
    degree = _degree_correlation(graph, asked.operator, asked.hops, codes)
    large, left_out = codes, tuple[str, ...]()
    if graph.several and probes:
        large, left_out = without_small(codes, [name for name, size in graph.group_sizes.items() if size])
    probed = _probe(graph, asked.operator, asked.hops, large, asked.seed) if probes else []
    reasons = [auc.reason for _, _, auc in probed if isinstance(auc, Undefined)]
    undefined = {"probe": reasons[-1]} if reasons else {}  # it is about the groups or the channels: the same for all
    return _Look(graph, codes, undefined, degree, probed, int((large >= 0).sum()), left_out)


def _of(look: _Look, channels: Channels, innocuous: float) -> dict[str, Any]:
    """The parts of an audit that are about the groups."""
    graph, undefined = look.graph, dict(look.undefined)
    seen = [auc.nodes for _, _, auc in look.probed if not isinstance(auc, Undefined)]
    notes = _notes(look, innocuous, seen)
    if channels.test is not None:
        notes += _shuffling_notes(graph, channels.test)
    if channels.undefined:
        undefined["intervals"] = channels.undefined
    return {
        "graph": _facts(graph),
        "homophily": graph.homophily(),
        "groups": group_places(graph),
        "channels": channels.found,
        "degree_correlation": look.degree,
        "probes": tuple(ProbeFinding.of(power(hop), hop, kind, auc) for hop, kind, auc in look.probed),
        "undefined": undefined,
        "notes": tuple(notes),
    }


def _operator(operator: str | Operator) -> Operator:
    if isinstance(operator, Operator):
        return operator
    if operator not in OPERATORS:
        raise InputError(f"operator: no '{operator}'.{did_you_mean(str(operator), OPERATORS)}")
    return Operator(kind=operator)  # type: ignore[arg-type]  # checked above


def _facts(graph: NodeGraph) -> dict[str, Any]:
    facts = describe_graph(graph)
    of_links = {"directed": graph.adjacency.directed, "weighted": graph.adjacency.weighted}
    return {name: facts[name] for name in ("source", "sha256", "nodes", "edges")} | of_links | facts


def _notes(look: _Look, innocuous: float, probed: list[int]) -> list[str]:
    graph, degree, notes = look.graph, look.degree, []
    if graph.sensitive_unknown:
        unknown = f"{graph.sensitive_unknown:,} nodes of unknown group"
        notes.append(f"{unknown} are propagated, but in no correlation or probe")
    known = graph.num_nodes - graph.sensitive_unknown
    chance = 3 * math.sqrt(max(len(graph.groups) - 1, 0) / max(known, 1))  # three standard errors of no correlation
    if degree is not None and max(map(abs, degree)) >= max(innocuous, chance):
        values = ", ".join(f"{value:.3f}" for value in degree)
        notes.append(
            f"the number of neighbours alone is tied to the group: a constant channel would have correlation {values} "
            "at hops 0, 1, ...; every channel with a mean far from 0 picks up part of it"
        )
    if look.left_out:
        notes.append(small_note(look.left_out))
    if probed and min(probed) < look.nodes:
        notes.append(f"probes saw a stratified sample of {min(probed):,} of {look.nodes:,} nodes")
    if int(graph.labelled.sum()) > SAMPLE:
        notes.append(f"label leaks were sought in a stratified sample of {SAMPLE:,} labelled nodes")
    return notes


def _shuffling_notes(graph: NodeGraph, test: LeakTest) -> list[str]:
    """How far quick shuffles are from exact ones; nothing if none was tried."""
    if not test.error.any():
        return []
    tried = f"in the {PROPAGATED} shuffles that were propagated for comparison"
    propagated = tuple(compress(graph.channels, ~test.quick))
    notes = []
    if test.quick.any():
        off = f"{test.error[test.quick].max():.2g} standard deviations"
        notes.append(f"quick shuffles: {tried}, no correlation and no growth was off by more than {off}")
    if propagated:
        which = f"{len(propagated):,} of {plural(len(graph.channels), 'channel')}"
        notes.append(
            f"all shuffles of {which} were propagated ({some(propagated)}): {tried}, quick ones were off by more than "
            f"{TOLERANCE:g} standard deviations"
        )
    return notes


# --- probes -----------------------------------------------------------------------------------------------------------


def _degree_correlation(graph: NodeGraph, operator: Operator, hops: int, codes: Codes) -> tuple[float, ...]:
    """The correlation that a constant channel gets: what the number of neighbours alone betrays."""
    values: npt.NDArray[Any] = np.ones((graph.num_nodes, 1))
    hop = one_hop(graph.adjacency, operator)
    correlations = [0.0]
    for _ in range(hops):
        values = hop(values)
        correlations.append(float(group_correlation(values, codes)[0]))
    return tuple(correlations)


def _probe(graph: NodeGraph, operator: Operator, hops: int, codes: Codes, seed: int) -> list[Probed]:
    """(hop, kind, AUC) for each matrix and probe, the sensitive channels left out."""
    kept = [name not in graph.sensitive_channels for name in graph.channels]
    values: npt.NDArray[Any] = graph.features[:, kept].astype(np.float64)
    hop = one_hop(graph.adjacency, operator)
    probed: list[Probed] = []
    with track("Probing", total=(hops + 1) * len(PROBES)) as advance:
        for number in range(hops + 1):
            values = hop(values) if number else values
            for kind in PROBES:
                probed.append((number, kind, probe_auc(values, codes, kind=kind, seed=seed)))
                advance(1)
    return probed
