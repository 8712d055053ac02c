"""Settings of all tests, and the graph that runs and studies are tested on."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import settings

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

# No deadlines: a busy machine is no bug. The same examples in every CI run; new ones on a developer's machine.
settings.register_profile("fairview", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("fairview")


@pytest.fixture(scope="session")
def graph() -> fv.NodeGraph:
    """80 nodes with awkward ids, two groups of different size, a split."""
    made = fv.synthetic_graph(80, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=1)
    made = made.replace(node_ids=["=1+1", "-5", 'say "hi", you', "007", *(f"n{i}" for i in range(76))])
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


def crossed_graph(nodes: int, *, seed: int = 0, rare: int = 0) -> fv.NodeGraph:
    """Race and sex tell nothing by themselves; whether they agree is what labels, links and channels hang on.

    The last `rare` nodes are of a third race.
    """
    made = fv.synthetic_graph(nodes, groups={"no": 0.5, "yes": 0.5}, average_degree=10, label_bias=0.3, seed=seed)
    race = np.random.default_rng(seed).integers(0, 2, nodes)
    race_of = np.array(["black", "white", "other"])
    sexes = np.array(["f", "m"])[race ^ made.sensitive]
    races = race_of[np.where(np.arange(nodes) < nodes - rare, race, 2)]
    fields = fv.NodeGraph.from_arrays(
        features=made.features,
        channels=made.channels,
        edges=np.stack([made.adjacency.sources, made.adjacency.indices]),
        labels=made.labels,
        sensitive={"race": races, "sex": sexes},
    )
    return fields.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="session")
def crossed() -> Callable[..., fv.NodeGraph]:
    """Makes graphs with two sensitive attributes whose combinations matter alone."""
    return crossed_graph


@pytest.fixture(scope="session")
def one_thread() -> Iterator[None]:
    """One thread inside, as before outside."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weighing(graph: fv.NodeGraph, weight: float | None = None) -> fv.NodeGraph:
    """The same links with this weight, or with weights between 1/8 and 8, the same both ways."""
    links = graph.adjacency
    ends = np.stack([links.sources, links.indices]).astype(int)
    exponents = (ends.min(axis=0) * 7 + ends.max(axis=0) * 3) % 13 / 2 - 3
    weights = 2**exponents if weight is None else np.full(links.num_pairs, weight)
    return graph.replace(adjacency=dataclasses.replace(links, weights=weights.astype(np.float32)))


@pytest.fixture(scope="session")
def with_weights() -> Callable[..., fv.NodeGraph]:
    return weighing


@pytest.fixture(params=["plain", "weighted"])
def weighing_or_not(request: pytest.FixtureRequest) -> Callable[[fv.NodeGraph], fv.NodeGraph]:
    """A test that asks for it runs twice: on a graph as it is, and on one whose links have weights."""
    return weighing if request.param == "weighted" else lambda graph: graph


@dataclasses.dataclass(frozen=True)
class OwnTables:
    """Tables on disk: people with ids, eight numbers, a group and a label, some of them not known; and links."""

    nodes: Path
    edges: Path

    @property
    def reading(self) -> dict[str, Any]:
        return {"label": "ok", "sensitive": "sex"}

    def graph(self, **reading: Any) -> fv.NodeGraph:
        return fv.read_graph(self.nodes, self.edges, **self.reading | reading)


@pytest.fixture(scope="session")
def own_tables(tmp_path_factory: pytest.TempPathFactory) -> OwnTables:
    """1,500 people."""
    folder = tmp_path_factory.mktemp("tables")
    made = fv.synthetic_graph(1500, groups={"f": 0.4, "m": 0.6}, average_degree=6, seed=3)
    draw = np.random.default_rng(0)
    hide, nobody = draw.random(1500) < 0.2, draw.random(1500) < 0.05
    people = made.to_frame().drop("split").rename({"label": "ok", "sensitive": "sex"})
    people = people.with_columns(
        id="n" + people["id"].str.zfill(4),
        ok=people["ok"].set(pl.Series(hide), None),
        sex=people["sex"].set(pl.Series(nobody), None),
    )
    first = made.adjacency.sources < made.adjacency.indices
    ends = {"source": made.adjacency.sources[first], "target": made.adjacency.indices[first]}
    links = pl.DataFrame({name: [f"n{end:04}" for end in each] for name, each in ends.items()})
    people.write_parquet(folder / "people.parquet")
    links.write_parquet(folder / "links.parquet")
    return OwnTables(folder / "people.parquet", folder / "links.parquet")


@pytest.fixture(scope="session")
def propagated(own_tables: OwnTables, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., fv.Propagated]:
    """The folder of `own_tables` with an operator; made once."""
    home = tmp_path_factory.mktemp("propagated")

    def made(operator: str = "gcn") -> fv.Propagated:
        folder = home / operator
        return fv.propagate(own_tables.nodes, own_tables.edges, folder=folder, operator=operator, **own_tables.reading)

    return made
