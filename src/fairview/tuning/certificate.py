"""What is promised, of which model, on whose evidence? A certificate beside the model, and a check of it.

`certificate.json` names the sha256 of the model's file, of the graph and of the nodes that certified it, with the
counts that the tests saw. Whoever has the folder can compute the p-values again; whoever has the graph, the counts too.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fairview._version import __version__
from fairview.data.graph import NodeGraph
from fairview.data.stored_links import StoredLinks
from fairview.errors import InputError, quoted
from fairview.files import read_regular
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import load_model
from fairview.metrics.gap_test import Sample, gap_p_value, largest_gap
from fairview.tuning.choice import Tested, as_json
from fairview.tuning.holdout import Holdout, hold_out
from fairview.tuning.limits import CONDITIONS, Limit

NAME = "certificate.json"

_MOST_GROUPS = 100
"""Every pair of groups is tested again: beyond so many it takes minutes."""

RULE = (
    "Candidates were put in order by what the learning and tuning nodes say of them, and tested one after the other on "
    "the certification nodes until the first failed (fixed sequence, exact test); of those that passed, the most "
    "useful is certified."
)


def statement(tests: Sequence[Tested], confidence: float) -> str:
    """The promise in one sentence."""
    promised = " and ".join(
        f"the {test.limit.words} is at most {100 * float(test.limit.limit or 0):g} points" for test in tests
    )
    return f"With {100 * confidence:g} % confidence {promised}."


def conditions(holdout: Holdout, population: str, limits: Sequence[Limit]) -> list[str]:
    """Under which the promise holds."""
    graph, left = holdout.graph, holdout.unlabelled_left_out
    where = (
        "It speaks of the nodes of this graph that no fit and no ranking has seen, and of no others."
        if population == "graph"
        else "It speaks of the nodes of this graph that no fit and no ranking has seen, and of new ones if they come "
        "from the same population, one by one and in the same way. If the population changes, it does not hold."
    )
    return [
        "The certification nodes must be a random part of the nodes that it speaks of. They were drawn at random from "
        "the val split and from the nodes in no split; if the val split was not drawn at random, it does not hold.",
        where,
        "It holds for this model file with this threshold. Refitting, another threshold, or calibration voids it.",
        *_sample_condition(graph),
        *_unknown_condition(holdout, limits),
        *([f"It does not speak of the {left:,} nodes without a label: none could certify."] if left else []),
        "The limit was set before anybody looked. A limit that is chosen after looking at the results is not covered.",
    ]


def _unknown_condition(holdout: Holdout, limits: Sequence[Limit]) -> list[str]:
    """Whom it does not speak of: of several attributes, by each that has a limit."""
    graph = holdout.graph
    if not graph.several:
        unknown = graph.sensitive_unknown
        return [f"The group of {unknown:,} nodes is not known; it does not speak of them."] if unknown else []
    found = []
    for name in dict.fromkeys(limit.attribute for limit in limits):
        view, what = holdout.by(name).graph, f"what it says of groups by {name} does not speak of"
        if view.sensitive_unknown:
            found.append(f"The {name} of {view.sensitive_unknown:,} nodes is not known; {what} them.")
        if empty := [group for group, size in view.group_sizes.items() if not size]:
            found.append(f"No node of this graph is in {quoted(empty, limit=20)}; {what} such nodes.")
    return found


def _sample_condition(graph: NodeGraph) -> list[str]:
    links = graph.adjacency
    if not isinstance(links, StoredLinks) or not links.sampled:
        return []
    return [
        f"This graph is {graph.num_nodes:,} of the {links.nodes:,} nodes of a propagated folder, drawn uniformly. It "
        "speaks of the others as of new nodes."
    ]


def certificate(
    tests: Sequence[Tested],
    holdout: Holdout,
    *,
    confidence: float,
    population: str,
    threshold: float,
    model_sha256: str,
    seed: int,
    order: int,
    candidates: int,
) -> dict[str, Any]:
    """The document.

    Args:
        tests: of the model that was chosen, one for each limit.
        holdout: the division of the nodes.
        confidence: of the promise.
        population: that it speaks of.
        threshold: of the model.
        model_sha256: of its `model.json`, which names the sha256 of its tensors.
        seed: of the division.
        order: its place in the sequence of the tests, from 1.
        candidates: how many there were to choose from.
    """
    links = holdout.graph.adjacency
    return {
        "kind": "certificate",
        "version": 1,
        "statement": statement(tests, confidence),
        "limits": [
            as_json(test, confidence) | {"groups": _groups(test.samples, holdout.by(test.limit.attribute).graph)}
            for test in tests
        ],
        "model_sha256": model_sha256,
        "graph_sha256": holdout.graph.sha256,
        **({"propagated_sha256": links.folder_sha256} if isinstance(links, StoredLinks) else {}),
        "nodes_sha256": nodes_sha256(holdout),
        "seed": seed,
        "threshold": threshold,
        "population": population,
        "rule": RULE,
        "conditions": conditions(holdout, population, [test.limit for test in tests]),
        "order": order,
        "candidates": candidates,
        "versions": {"fairview": __version__},
    }


def nodes_sha256(holdout: Holdout) -> str:
    """Of the certification nodes' row numbers: those for everybody, then the labelled ones."""
    digest = hashlib.sha256()
    for rows in (holdout.everybody, holdout.labelled):
        digest.update(np.ascontiguousarray(rows, dtype="<i8").tobytes() + b";")
    return digest.hexdigest()


def check_certificate(
    folder: str | Path, graph: NodeGraph | None = None, load: Callable[[Path], Estimator] = load_model
) -> list[str]:
    """What is wrong with the certificate of a run folder; nothing if the list is empty.

    Args:
        folder: with `certificate.json` and `model.json`.
        graph: that the model was tuned on; with it, the counts are made again from the model's scores.
        load: reads the model.
    """
    folder = Path(folder)
    document = _read(folder / NAME)
    if isinstance(document, str):
        return [document]
    problems = []
    try:
        problems += _check_statement(document)
        model = read_regular(folder / "model.json")
        if hashlib.sha256(model).hexdigest() != document["model_sha256"]:
            problems.append(f"{NAME}: it is of another model than model.json; refitting or changing a model voids it.")
        told = json.loads(model).get("threshold", 0.5)
        if told != document["threshold"]:
            problems.append(f"{NAME}: it is for the threshold {document['threshold']:g}, but the model's is {told:g}.")
        for limit in document["limits"]:
            problems += _check_limit(limit)
        if graph is not None:
            problems += _check_counts(load(folder), document, graph)
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RecursionError, InputError) as error:
        problems.append(f"{NAME}: is not a whole certificate ({type(error).__name__}: {error}).")
    return problems


def _check_statement(document: Mapping[str, Any]) -> list[str]:
    """The sentence that people read, against the limits."""
    limits = document["limits"]
    if not limits:
        return [f"{NAME}: it names no limit."]
    tests = [Tested(_limit(each), each["estimate"], each["p_value"], ()) for each in limits]
    same = document["statement"] == statement(tests, limits[0]["confidence"])
    return [] if same else [f"{NAME}: its statement is not what its limits say."]


def _limit(document: Mapping[str, Any]) -> Limit:
    return Limit(document["gap"], document["limit"], document.get("attribute"))


def _name(limit: Mapping[str, Any]) -> str:
    """Which limit a problem is about."""
    return f"{limit['gap']} by {limit['attribute']}" if "attribute" in limit else str(limit["gap"])


def _check_limit(limit: Mapping[str, Any]) -> list[str]:
    problems = []
    which = _name(limit)
    names = [[row["group"] for row in rows] for rows in limit["groups"]]
    if any(len({*each}) < len(each) or len(each) > _MOST_GROUPS for each in names):
        return [f"{NAME}: {which}: it repeats a group, or counts more than {_MOST_GROUPS}."]
    conditions = zip(CONDITIONS[limit["gap"]], limit["groups"], strict=True)
    samples = tuple(
        tuple(Sample(row["positive"], row["nodes"], row["population"]) for row in rows) for _, rows in conditions
    )
    p_value = max(gap_p_value(each, limit["limit"]) for each in samples)
    tested = Tested(_limit(limit), max(map(largest_gap, samples)), p_value, samples)
    counted = as_json(tested, limit["confidence"])
    for name in ("estimate", "upper_bound", "nodes"):
        if not np.isclose(counted[name], limit[name], rtol=1e-6, atol=1e-9):
            words = name.replace("_", " ")
            problems.append(f"{NAME}: {which}: its {words} is {limit[name]:g}, the counts give {counted[name]:g}.")
    if not np.isclose(p_value, limit["p_value"], rtol=1e-6, atol=1e-9):
        problems.append(f"{NAME}: {which}: its p-value is {limit['p_value']:g}, the counts give {p_value:g}.")
    if p_value > 1 - limit["confidence"] + 1e-9:
        problems.append(f"{NAME}: {which}: the counts do not support the limit of {limit['limit']:g}.")
    return problems


def _check_counts(model: Estimator, document: Mapping[str, Any], graph: NodeGraph) -> list[str]:
    if graph.sha256 != document["graph_sha256"]:
        return [f"{NAME}: it is of another graph than the one given."]
    holdout = hold_out(graph, seed=document["seed"])
    if nodes_sha256(holdout) != document["nodes_sha256"]:
        return [f"{NAME}: its certification nodes are not those that its seed gives."]
    positive = np.asarray(model.predict_proba(graph))[:, 1] > document["threshold"]
    problems = []
    for limit in document["limits"]:
        of_attribute = holdout.by(limit.get("attribute"))
        counted = [
            _counted(positive, of_attribute, label, document["population"]) for label in CONDITIONS[limit["gap"]]
        ]
        if limit["groups"] != _groups(counted, of_attribute.graph):
            problems.append(f"{NAME}: {_name(limit)}: the model's predictions give other counts.")
    return problems


def _counted(positive: npt.NDArray[np.bool_], holdout: Holdout, label: int | None, population: str) -> list[Sample]:
    rows, graph = holdout.certifying(label), holdout.graph
    counts = np.bincount(graph.sensitive[rows[positive[rows]]], minlength=len(graph.groups))
    return holdout.samples(counts, label, population)


def _groups(conditions: Sequence[Sequence[Sample]], graph: NodeGraph) -> list[list[dict[str, Any]]]:
    """The counts of each group, a list for each label among which the gap compares them."""
    names = [name for name, size in graph.group_sizes.items() if size]
    return [
        [{"group": name, **dataclasses.asdict(sample)} for name, sample in zip(names, samples, strict=True)]
        for samples in conditions
    ]


def _read(path: Path) -> dict[str, Any] | str:
    try:
        document = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        return f"{path.name}: can't be read ({type(error).__name__})."
    if not isinstance(document, dict) or document.get("kind") != "certificate" or document.get("version") != 1:
        return f"{path.name}: is no certificate of this version."
    return document
