"""What does it buy to mask and weigh kinds of links, beside channels, instead of channels alone?

python -m studies.link_kinds              prints tables in Markdown; a few minutes on one core
python -m studies.link_kinds --explain    which kind carries the gap of the models that weigh them, on planted graphs

Three ablations of FairVGNN (GCN) beside the plain model: masks over channels (`features`), over kinds of links
(`kinds`), over both. On planted graphs, where one kind of links carries the bias and another is neutral and useful, and
on German and credit-small with three bands of similarity as kinds. Every split (of a planted graph: every graph) is one
pair of each two rows.

The settings were settled on the planted graph of seed 0, which is not in the tables, and on nothing else.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

import fairview as fv
from fairview.methods.link_kinds import KindSource
from fairview.study.statistics import t_interval

METRICS = ("auc", "balanced_accuracy", "statistical_parity_gap", "equal_opportunity_gap")
ROWS: dict[str, dict[str, Any]] = {"features": {}, "kinds": {"feature_masks": False}, "both": {}}
SHARED: dict[str, Any] = {"epochs": 60, "learning_rate_generator": 0.01, "learning_rate_encoder": 0.01, "threads": 1}
SETTINGS: dict[str, dict[str, Any]] = {
    "adversary": {"learning_rate_discriminator": 0.01},
    "energy": {"discriminator": "energy", "mask_density_weight": 0.1, "penalty_sample": 1000},
}
PLANTED = "planted"


def planted_graph(seed: int, *, nodes: int = 1500, average_degree: int = 16) -> fv.NodeGraph:
    """Two kinds of links: `kin` joins people of one group at random, `work` people of like merit in both groups.

    Merit decides about the label, with a bonus for one group. Three channels tell of merit, and a little of the group;
    one of the group alone; two of nothing. A mean over kin wipes merit out and leaves the group, a mean over colleagues
    sharpens merit: no mask over channels can tell them apart.
    """
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(nodes) % 2)
    sign = 2.0 * group - 1
    merit = rng.normal(size=nodes)
    labels = merit + 0.4 * sign + 0.7 * rng.normal(size=nodes) > 0
    features = rng.normal(size=(nodes, 6))
    features[:, :3] += 0.7 * merit[:, None]
    features[:, :4] += 0.25 * sign[:, None]
    links = nodes * average_degree // 4
    kin, work = _kin(rng, group, links), _colleagues(rng, merit, links)
    ends = np.concatenate([kin, work], axis=1)
    names = np.array(["kin"] * kin.shape[1] + ["work"] * work.shape[1])
    first = np.unique(ends.min(axis=0) * nodes + ends.max(axis=0), return_index=True)[1]  # a link has one kind
    graph = fv.NodeGraph.from_arrays(
        features=features,
        channels=["merit_1", "merit_2", "merit_3", "proxy", "noise_1", "noise_2"],
        edges=ends[:, first],
        link_kind=names[first],
        labels=labels.astype(int),
        sensitive=np.where(group, "m", "f"),
    )
    return graph.with_splits(fv.stratified_splits(graph, repeats=1, seed=seed)[0])


def _kin(rng: np.random.Generator, group: npt.NDArray[np.int_], links: int) -> npt.NDArray[np.int_]:
    return np.concatenate([rng.choice(np.flatnonzero(group == g), (2, links // 2)) for g in (0, 1)], axis=1)


def _colleagues(rng: np.random.Generator, merit: npt.NDArray[np.float64], links: int) -> npt.NDArray[np.int_]:
    order, reach = np.argsort(merit), len(merit) // 15
    one = rng.integers(0, len(merit), links)
    other = np.clip(one + rng.integers(1, reach, links) * rng.choice([-1, 1], links), 0, len(merit) - 1)
    return np.stack([order[one], order[other]])


def graphs(dataset: str, splits: int) -> Iterator[fv.NodeGraph]:
    """One graph for each split."""
    if dataset == PLANTED:
        yield from map(planted_graph, range(1, splits + 1))
        return
    graph = fv.load_dataset(dataset)
    for masks in fv.stratified_splits(graph, repeats=splits, seed=0):
        yield graph.with_splits(masks)


def models(dataset: str, setting: str) -> dict[str, fv.FairVGNN]:
    """The three ablations."""
    kinds: KindSource = "given" if dataset == PLANTED else "bands"
    return {
        name: fv.FairVGNN(**SHARED, **SETTINGS[setting], **row, link_kinds=None if name == "features" else kinds)
        for name, row in ROWS.items()
    }


def measured(model: Any, graph: fv.NodeGraph) -> list[float]:
    """The metrics on the test nodes, in percent."""
    found = fv.evaluate(model.fit(graph), graph, split="test")
    return [100 * float(found[name]) for name in METRICS]  # type: ignore[arg-type]


def study(dataset: str, splits: int) -> None:
    """A table of means and paired differences, and one of what became of the kinds."""
    found: dict[str, list[list[float]]] = {}
    kinds: dict[str, list[list[float]]] = {}
    for number, graph in enumerate(graphs(dataset, splits)):
        print(f"{dataset}: split {number + 1} of {splits}", file=sys.stderr, flush=True)
        plain = fv.Vanilla(epochs=100, threads=1)
        found.setdefault("plain", []).append(measured(plain, graph))
        for setting in SETTINGS:
            for name, model in models(dataset, setting).items():
                found.setdefault(f"{setting}, {name}", []).append(measured(model, graph))
                for kind, weight in model.link_weight_.items():
                    kept = model.link_keep_probability_[kind]
                    kinds.setdefault(f"{setting}, {name} | {place(kind)}", []).append([weight, kept])
    _print_rows(dataset, found)
    _print_kinds(dataset, kinds)


def parts_by_kind(splits: int) -> None:
    """A table of the gap in the mean logit, its parts by kind of links, and the gap without all links of a kind."""
    found: dict[str, list[list[float]]] = {}
    for graph in graphs(PLANTED, splits):
        for setting in SETTINGS:
            for name in ("kinds", "both"):
                explained = fv.explain(models(PLANTED, setting)[name].fit(graph), graph, top=1, draws=1)
                parts = [each.gap or 0.0 for each in explained.kinds]
                left = [explained.gap - each.effect for each in explained.kinds if each.effect is not None]
                found.setdefault(f"{setting}, {name}", []).append([explained.gap, *parts, *left])
    print("\n| planted | gap | over kin | over work | itself | without kin | without work |\n|" + "---|" * 7)
    for row, values in found.items():
        print(f"| {row} | {' | '.join(_spreads(values, 2))} |")


def place(kind: str) -> str:
    """A name that is the same on every split: the cuts of bands are not."""
    for start, name in (("similarity below", "least similar"), ("similarity from", "most similar")):
        if kind.startswith(start):
            return name
    return "in between" if kind.startswith("similarity") else kind


def _print_rows(dataset: str, found: dict[str, list[list[float]]]) -> None:
    names = "AUC | balanced accuracy | SP | EO"
    print(f"\n| {dataset} | {names} | AUC - features | SP - features | EO - features |\n|{'---|' * 8}")
    for row, values in found.items():
        table, cells = np.array(values), _spreads(values, 1)
        setting, _, name = row.partition(", ")
        pairs = table - np.array(found[f"{setting}, features"]) if name and name != "features" else None
        apart = ["" if pairs is None else _difference(pairs[:, place]) for place in (0, 2, 3)]
        print(f"| {row} | {' | '.join([*cells, *apart])} |")


def _spreads(values: list[list[float]], digits: int) -> list[str]:
    """Mean ± standard deviation of each column."""
    columns = zip(np.mean(values, axis=0), np.std(values, axis=0, ddof=1), strict=True)
    return [f"{mean:.{digits}f} ± {spread:.{digits}f}" for mean, spread in columns]


def _difference(pairs: npt.NDArray[np.float64]) -> str:
    interval = t_interval(pairs)
    ends = "" if interval is None else f" [{interval[0]:+.1f}, {interval[1]:+.1f}]"
    return f"{pairs.mean():+.1f}{ends}"


def _print_kinds(dataset: str, kinds: dict[str, list[list[float]]]) -> None:
    print(f"\n| {dataset} | kind | weight | kept with probability |\n|{'---|' * 4}")
    for row, values in kinds.items():
        weight, kept = np.array(values).mean(axis=0)
        print(f"| {row} | {weight:.2f} | {kept:.2f} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", nargs="+", default=[PLANTED, "german", "credit-small"])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--explain", action="store_true")
    given = parser.parse_args()
    if given.explain:
        parts_by_kind(given.splits)
        sys.exit()
    for chosen in given.datasets:
        study(chosen, given.splits)
