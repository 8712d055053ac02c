"""Do all engines write the same folder, whatever the ids, links and columns are like?"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.propagation.engines import block_products, budget, duckdb, link_blocks, link_numbers, node_rows
from fairview.propagation.operators import Operator

N, M = 400, 2500
ROLES: dict[str, Any] = {"label": "ok", "sensitive": "sex", "categorical": ["job"], "split_seed": 1}


def tables(folder: Path, ids: list[Any], *, csv: bool = False, seed: int = 0) -> tuple[Path, Path]:
    """People in the order of `ids`, and links among them, some of them double, back and forth, or to oneself."""
    rng = np.random.default_rng(seed)
    people = pl.DataFrame(
        {
            "id": ids,
            "a": rng.normal(size=N),
            "b": rng.integers(0, 5, N),
            "job": rng.choice(["x", "y", "z"], N),
            "const": np.ones(N),
            "sex": rng.choice(["f", "m", None], N, p=[0.45, 0.45, 0.1]),
            "ok": [None if value == 2 else int(value) for value in rng.choice([0, 1, 2], N, p=[0.4, 0.4, 0.2])],
        }
    )
    first, second = rng.integers(0, N - 20, (2, M))  # the last twenty are isolated
    weight = ((first + second) % 7 + 1) / 2  # the same both ways
    links = pl.DataFrame({"source": [ids[k] for k in first], "target": [ids[k] for k in second], "w": weight})
    ending = "csv" if csv else "parquet"
    nodes, edges = folder / f"people.{ending}", folder / f"links.{ending}"
    for frame, path in ((people, nodes), (links, edges)):
        if csv:
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
    return nodes, edges


ORDER = np.random.default_rng(5).permutation(N).tolist()
IDS: dict[str, list[Any]] = {
    "dense": list(range(N)),
    "shuffled": ORDER,
    "with gaps": [7 * k + 3 for k in ORDER],
    "texts": [f"p{k}" for k in ORDER],
    "leading zeros": [f"{k:05}" for k in ORDER],
    "negative": [k - 5 for k in ORDER],
    "floats": [float(k) for k in ORDER],
    "64 bit": [2**62 + k for k in ORDER],
}


@pytest.fixture(autouse=True)
def _in_pieces(monkeypatch):
    """Small graphs go through many blocks, batches and chunks, as large ones do."""
    monkeypatch.setattr(link_blocks, "PER_BLOCK", 500)
    monkeypatch.setattr(link_blocks.Histogram.starts, "__defaults__", (500,))
    monkeypatch.setattr(link_blocks, "_BINS", 64)
    monkeypatch.setattr(link_numbers, "_ROWS", 700)
    monkeypatch.setattr(node_rows, "ROWS", 90)
    monkeypatch.setattr(duckdb, "ROWS", 90)
    monkeypatch.setattr(duckdb, "BATCH", 150)


def rows(propagated: fv.Propagated) -> pl.DataFrame:
    return pl.concat(propagated.frames())


def assert_same(one: fv.Propagated, other: fv.Propagated, tolerance: float = 1e-6) -> None:
    """The same facts, notes and recipe, and rows that differ by rounding."""
    first, second = rows(one), rows(other)
    channels = [name for name in first.columns if "@" in name]
    assert first.columns == second.columns
    assert first.drop(channels).equals(second.drop(channels))
    left, right = first.select(channels).to_numpy(), second.select(channels).to_numpy()
    assert np.abs(left - right).max(initial=0) <= tolerance * max(1.0, np.abs(left).max(initial=0))
    own = {"engine", "parts", "moments", "recipe"}
    assert one.facts.model_dump(exclude=own) == other.facts.model_dump(exclude=own)
    for ours, theirs in zip(one.facts.moments, other.facts.moments, strict=True):
        assert np.allclose(ours.mean, theirs.mean, atol=1e-6)
        assert np.allclose(ours.covariance, theirs.covariance, atol=1e-6)
    ours, theirs = one.facts.recipe, other.facts.recipe
    assert ours.model_dump(exclude={"features"}) == theirs.model_dump(exclude={"features"})
    assert ours.features.channels == theirs.features.channels
    assert np.allclose(ours.features.scaling.center, theirs.features.scaling.center, atol=1e-12)
    assert np.allclose(ours.features.scaling.spread, theirs.features.scaling.spread, rtol=1e-12)
    assert np.allclose(ours.features.fill, theirs.features.fill, atol=1e-12)


def both(nodes: Any, edges: Any, folder: Path, **settings: Any) -> tuple[fv.Propagated, fv.Propagated]:
    memory = fv.propagate(nodes, edges, folder=folder / "memory", engine="memory", **settings)
    beyond = fv.propagate(nodes, edges, folder=folder / "duckdb", engine="duckdb", **settings)
    assert (memory.facts.engine, beyond.facts.engine) == ("memory", "duckdb")
    return memory, beyond


@pytest.mark.parametrize("ids", list(IDS.values()), ids=list(IDS))
def test_any_ids_give_the_same_folder(tmp_path, ids):
    assert_same(*both(*tables(tmp_path, ids), tmp_path, **ROLES))


@pytest.mark.parametrize(
    "settings",
    [
        {"operator": "mean", "directed": True},
        {"operator": "sum", "edge_weight": "w"},
        {"operator": "gcn", "edge_weight": "w", "directed": True},
        {"operator": Operator(kind="mean", self_loops=0.0), "hops": 3},
        {"operator": Operator(kind="sum", self_loops=2.0), "hops": 1},
        {"hops": 0},
        {"scaling": "minmax", "unscaled": ["b"]},
        {"scaling": "none", "drop": ["const"]},
        {"scale_on": "train"},
        {"sensitive_as_feature": True, "missing": "mean"},
        {"features": ["a"], "categorical": []},
    ],
    ids=str,
)
def test_any_settings_give_the_same_folder(tmp_path, settings):
    nodes, edges = tables(tmp_path, IDS["texts"])
    if "edge_weight" in settings and "directed" not in settings:  # parallel edges add up, in one direction only
        pl.read_parquet(edges).unique(["source", "target"], maintain_order=True).write_parquet(edges)
    assert_same(*both(nodes, edges, tmp_path, **ROLES | settings))


@pytest.mark.parametrize("ids", ["shuffled", "texts", "leading zeros"])
def test_csv_gives_the_same_folder(tmp_path, ids):
    assert_same(*both(*tables(tmp_path, IDS[ids], csv=True), tmp_path, **ROLES))


def test_without_ids_the_row_numbers_serve(tmp_path):
    nodes, edges = tables(tmp_path, IDS["dense"])
    pl.read_parquet(nodes).drop("id").write_parquet(nodes)
    assert_same(*both(nodes, edges, tmp_path, **ROLES))


def test_folders_and_patterns_of_parts_are_one_table(tmp_path):
    nodes, edges = tables(tmp_path, IDS["with gaps"])
    frame = pl.read_parquet(nodes)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").touch()
    for number in range(3):
        frame[number * 150 : (number + 1) * 150].write_parquet(tmp_path / "parts" / f"{number}.parquet")
    whole, _ = both(nodes, edges, tmp_path / "whole", **ROLES, name="people")
    for number, source in enumerate((tmp_path / "parts", str(tmp_path / "parts" / "*.parquet"))):
        memory, beyond = both(source, edges, tmp_path / str(number), **ROLES, name="people")
        assert_same(memory, beyond)
        assert rows(memory).equals(rows(whole))


def test_a_hub_that_knows_everyone(tmp_path):
    nodes, edges = tables(tmp_path, IDS["dense"])
    spokes = pl.DataFrame({"source": [0] * (N - 1), "target": list(range(1, N)), "w": [1.0] * (N - 1)})
    pl.concat([pl.read_parquet(edges).cast({"source": pl.Int64, "target": pl.Int64}), spokes]).write_parquet(edges)
    assert_same(*both(nodes, edges, tmp_path, **ROLES))


@pytest.mark.slow
def test_a_hub_of_a_million_links(tmp_path, monkeypatch):
    monkeypatch.undo()  # in blocks and parts as they always are
    draw, n = np.random.default_rng(2), 1_000_001
    nodes, edges = tmp_path / "people.parquet", tmp_path / "links.parquet"
    pl.DataFrame({"id": np.arange(n), "x": draw.normal(size=n), "s": draw.integers(0, 2, n)}).write_parquet(nodes)
    pl.DataFrame({"source": np.zeros(n - 1, dtype=int), "target": np.arange(1, n)}).write_parquet(edges)
    memory, beyond = both(nodes, edges, tmp_path, sensitive="s")
    assert_same(memory, beyond)
    assert memory.facts.links == 1_000_000


@pytest.mark.parametrize(("name", "operator"), [("german", "gcn"), pytest.param("bail", "sum", marks=pytest.mark.slow)])
def test_known_datasets_give_the_same_folder(tmp_path, name, operator):
    if not os.environ.get("FAIRVIEW_DATA"):
        pytest.skip(f"needs {name}.zip: name its folder in FAIRVIEW_DATA")
    graph = fv.load_dataset(name)
    nodes, edges, ids = tmp_path / "people.parquet", tmp_path / "links.parquet", np.array(graph.ids)
    features = {channel: graph.features[:, place] for place, channel in enumerate(graph.channels)}
    pl.DataFrame({"id": ids, "y": graph.labels, "s": graph.sensitive, **features}).write_parquet(nodes)
    ends = {"source": ids[graph.adjacency.sources], "target": ids[graph.adjacency.indices]}
    pl.DataFrame(ends).write_parquet(edges)
    memory, beyond = both(nodes, edges, tmp_path, label="y", sensitive="s", split_seed=3, operator=operator)
    assert_same(memory, beyond)
    assert memory.facts.links == graph.num_edges


def test_no_links_at_all(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    pl.read_parquet(edges).clear().write_parquet(edges)
    assert_same(*both(nodes, edges, tmp_path, **ROLES))


@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_empty_cells_are_filled_alike(tmp_path, missing):
    nodes, edges = tables(tmp_path, IDS["texts"])
    frame = pl.read_parquet(nodes)
    gaps = pl.Series(np.arange(N) % 9 == 0)
    frame.with_columns(a=frame["a"].set(gaps, None), job=frame["job"].set(gaps, None)).write_parquet(nodes)
    assert_same(*both(nodes, edges, tmp_path, **ROLES, missing=missing))


def test_channels_that_do_not_fit_together_are_propagated_in_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(budget.Budget, "width", lambda *_: 2)
    assert_same(*both(*tables(tmp_path, IDS["shuffled"]), tmp_path, **ROLES))


def test_new_tables_are_propagated_as_the_recipe_says(tmp_path):
    first = fv.propagate(*tables(tmp_path, IDS["texts"]), folder=tmp_path / "first", **ROLES)
    (tmp_path / "new").mkdir()
    nodes, edges = tables(tmp_path / "new", IDS["texts"], seed=8)
    memory, beyond = both(nodes, edges, tmp_path / "new", recipe=first.facts.recipe)
    assert_same(memory, beyond)
    assert memory.facts.recipe == first.facts.recipe


# --- several sensitive attributes -------------------------------------------------------------------------------------

BOTH = ROLES | {"sensitive": ["race", "sex"]}


def with_race(folder: Path, ids: list[Any], *, csv: bool = False) -> tuple[Path, Path]:
    """The same people with a race, which is not known of all."""
    nodes, edges = tables(folder, ids, csv=csv)
    race = np.random.default_rng(7).choice(["black", "other", "white", None], N, p=[0.4, 0.1, 0.4, 0.1])
    frame = (pl.read_csv(nodes, infer_schema=False) if csv else pl.read_parquet(nodes)).with_columns(race=race)
    if csv:
        frame.write_csv(nodes)
    else:
        frame.write_parquet(nodes)
    return nodes, edges


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"split_seed": None},
        {"operator": "sum", "directed": True, "edge_weight": "w", "hops": 1},
        {"sensitive_as_feature": True, "missing": "indicator"},
        {"groups": {"race": {"white": "W", "black": "B", "other": "O"}}},
        {"sensitive": ["sex", "race", "sex"], "label": None, "drop": ["ok"], "split_seed": None},
    ],
    ids=str,
)
def test_several_attributes_give_the_same_folder(tmp_path, settings):
    nodes, edges = with_race(tmp_path, IDS["texts"])
    memory, beyond = both(nodes, edges, tmp_path, **BOTH | settings)
    assert_same(memory, beyond)
    names = list(dict.fromkeys((BOTH | settings)["sensitive"]))
    assert [each.name for each in memory.facts.attributes] == names
    assert memory.facts.sensitive_name == " & ".join(names)
    assert [name for name in rows(memory).columns if ":" in name] == [f"sensitive:{name}" for name in names]


def test_several_attributes_in_csv_give_the_same_folder(tmp_path):
    assert_same(*both(*with_race(tmp_path, IDS["shuffled"], csv=True), tmp_path, **BOTH))


def test_new_tables_with_several_attributes_are_propagated_as_the_recipe_says(tmp_path):
    first = fv.propagate(*with_race(tmp_path, IDS["texts"]), folder=tmp_path / "first", **BOTH)
    (tmp_path / "new").mkdir()
    nodes, edges = tables(tmp_path / "new", IDS["texts"], seed=8)  # without a column race
    memory, beyond = both(nodes, edges, tmp_path / "new", recipe=first.facts.recipe)
    assert_same(memory, beyond)
    assert memory.facts.recipe == first.facts.recipe
    sizes = {each.name: sum(each.group_sizes.values()) for each in memory.facts.views}
    assert sizes == {"race": 0, "sex": rows(memory)["sensitive:sex"].count(), "race & sex": 0}


@pytest.mark.parametrize("name", ["read_rows", "partition", "degree_factors", "write_folder"])
def test_several_attributes_are_whole_after_a_stop(tmp_path, monkeypatch, name):
    nodes, edges = with_race(tmp_path, IDS["texts"])
    whole = fv.propagate(nodes, edges, folder=tmp_path / "whole", engine="duckdb", **BOTH)
    work = getattr(duckdb, name)
    monkeypatch.setattr(duckdb, name, lambda *_, **__: (_ for _ in ()).throw(KilledError()))
    with pytest.raises(KilledError):
        fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", **BOTH)
    monkeypatch.setattr(duckdb, name, work)
    resumed = fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", **BOTH)
    assert resumed.sha256 == whole.sha256


# --- what can't be propagated -----------------------------------------------------------------------------------------


def changed(path: Path, **columns: Any) -> None:
    pl.read_parquet(path).with_columns(**columns).write_parquet(path)


def refused(nodes: Path, edges: Path, folder: Path, **settings: Any) -> list[str]:
    """What both engines say."""
    said = []
    for engine in ("memory", "duckdb"):
        with pytest.raises(fv.InputError) as caught:
            fv.propagate(nodes, edges, folder=folder / engine, engine=engine, **ROLES | settings)
        assert not (folder / engine / "manifest.json").exists()
        said.append(str(caught.value))
    return said


def test_links_to_strangers_are_refused_or_counted(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    changed(edges, target=pl.when(pl.int_range(pl.len()) < 7).then(pl.lit("nobody")).otherwise(pl.col("target")))
    first, second = refused(nodes, edges, tmp_path)
    assert first == second
    assert "7 of 2,500 edges point to ids that people.parquet does not have ('nobody')." in first
    memory, beyond = both(nodes, edges, tmp_path / "dropped", **ROLES, drop_unknown=True)
    assert_same(memory, beyond)
    assert "links.parquet: 7 of 2,500 edges dropped: an end is not in people.parquet" in memory.facts.notes


def test_numbers_of_strangers_are_refused_too(tmp_path):
    nodes, edges = tables(tmp_path, IDS["with gaps"])
    changed(edges, source=pl.when(pl.int_range(pl.len()) < 3).then(pl.lit(4)).otherwise(pl.col("source")))
    first, second = refused(nodes, edges, tmp_path)
    assert first == second
    assert "3 of 2,500 edges point to ids that people.parquet does not have ('4')." in first


def test_cells_that_are_wrong_are_named(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    changed(nodes, a=pl.when(pl.col("id") == "p7").then(pl.lit(None)).otherwise(pl.col("a")))
    first, second = refused(nodes, edges, tmp_path)
    assert "column 'a': 1 of 400 rows are empty (id p7)" in first
    assert "people.parquet, rows 360 to 399: column 'a': 1 of 40 rows are empty (id p7)" in second, "rows at a time"


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("id", "p1", "1 ids occur more than once: 'p1'"),
        ("id", "", "1 of 400 ids are empty"),
        ("ok", "maybe", "the labels are '0', '1', 'maybe'. Say which is positive"),
        ("a", "much", "cells are not numbers, the first is 'much'"),
    ],
)
def test_tables_that_say_no_are_answered(tmp_path, column, value, words):
    nodes, edges = tables(tmp_path, IDS["texts"])
    second = pl.when(pl.int_range(pl.len()) == 250).then(pl.lit(value)).otherwise(pl.col(column).cast(pl.String))
    if column == "id":
        second = pl.when(pl.col("id") == "p2").then(pl.lit(value)).otherwise(pl.col("id"))
    changed(nodes, **{column: second})
    assert all(words in text for text in refused(nodes, edges, tmp_path))


def test_weights_that_disagree_are_refused_with_the_ids(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    pl.DataFrame({"source": ["p1", "p2"], "target": ["p2", "p1"], "w": [1.0, 2.0]}).write_parquet(edges)
    first, second = refused(nodes, edges, tmp_path, edge_weight="w")
    assert first == second
    assert "1 links have another weight in each direction ('p1' to 'p2': 1, back: 2)" in first


def test_too_little_memory_and_too_little_disk_are_said_before_the_work(tmp_path, monkeypatch):
    nodes, edges = tables(tmp_path, IDS["texts"])
    with pytest.raises(
        fv.InputError, match=r"400 nodes need at least 1\.2 GB to hold one channel; 1\.0 GB are allowed"
    ):
        fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", memory="1GB", **ROLES)
    monkeypatch.setattr(budget.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(fv.InputError, match=r"the work needs about .* of disk, and 0\.0 MB are free"):
        fv.propagate(nodes, edges, folder=tmp_path / "b", engine="duckdb", **ROLES)


def test_more_nodes_than_can_be_numbered_are_refused():
    most = budget.Budget(nodes=2**31 - 1, links=1, channels=1, hops=1, directed=False, weighted=False)
    assert most.width(10**12) == 1
    with pytest.raises(fv.InputError) as caught:
        dataclasses.replace(most, nodes=2**31).width(10**12)
    assert str(caught.value) == "nodes: 2,147,483,648; this engine can number 2,147,483,647. Pass engine='spark'."


@pytest.mark.parametrize(
    ("sensitive", "problems"),
    [
        (
            ["rase", "sexx"],
            [
                "people.parquet: no column 'rase'. Did you mean 'race'?",
                "people.parquet: no column 'sexx'. Did you mean 'sex'?",
            ],
        ),
        (["race", "ok"], ["people.parquet: column 'ok' can't be both the label and the sensitive attribute."]),
        (["race", "nobody"], ["people.parquet: column 'nobody': every value is empty."]),
        (
            ["race", "a"],
            ["people.parquet: column 'a': 400 different values (", "Bin it into groups first, in a column of its own."],
        ),
    ],
    ids=str,
)
def test_sensitive_columns_are_refused_as_read_graph_refuses_them(tmp_path, sensitive, problems):
    nodes, edges = with_race(tmp_path, IDS["texts"])
    changed(nodes, nobody=pl.lit(None, dtype=pl.String))
    said = refused(nodes, edges, tmp_path, sensitive=sensitive, features=["a", "b"], categorical=[])
    with pytest.raises(fv.InputError) as caught:
        fv.read_graph(nodes, edges, label="ok", sensitive=sensitive, features=["a", "b"])
    for text in (*said, str(caught.value)):
        assert all(problem in text for problem in problems), text


def test_more_groups_together_than_can_be_told_apart_are_refused_alike(tmp_path):
    nodes, edges = with_race(tmp_path, IDS["texts"])
    changed(nodes, u=pl.int_range(pl.len()) % 20, v=pl.int_range(pl.len()) % 7)
    first, second = refused(nodes, edges, tmp_path, sensitive=["u", "v", "race"], drop=["sex"])
    assert first == second
    assert first == (
        "sensitive: 420 groups together ('u' 20, 'v' 7, 'race' 3), more than 400. Merge groups, or name fewer "
        "attributes."
    )


def test_a_channel_that_is_called_like_the_column_of_an_attribute_stays_apart(tmp_path):
    nodes, edges = with_race(tmp_path, IDS["texts"])
    changed(nodes, **{"sensitive:race": pl.col("a"), "race@1": pl.col("race")})
    memory, beyond = both(nodes, edges, tmp_path, **BOTH, drop=["race@1"])
    assert_same(memory, beyond)
    assert {"sensitive:race", "sensitive:race@1"} < set(rows(memory).columns)
    first, second = refused(nodes, edges, tmp_path / "refused", sensitive=["race@1", "sex"])
    assert first == second
    assert first == (
        "sensitive: 'race@1': in a propagated folder names that end in @ and a number are those of channels. "
        "Rename the column."
    )
    settings = ROLES | {"sensitive": "race@1", "drop": ["race", "sex"]}
    alone = fv.propagate(nodes, edges, folder=tmp_path / "alone", **settings)
    assert "sensitive" in rows(alone).columns


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "duckbd"}, "engine: no 'duckbd'. Did you mean 'duckdb'?"),
        ({"operator": "gnc"}, "operator: no 'gnc'. Did you mean 'gcn'?"),
        ({"hops": 11}, "hops: 11; expected a whole number, from 0 to 10."),
        ({"memory": "lots"}, "memory: 'lots'; expected a size such as 8GB or 500MB."),
        ({"engine": "duckdb", "missing": "drop"}, "missing: 'drop' is for tables in memory."),
        ({"split": "part"}, "split: either the column 'part' (split) or a drawn one (split_seed), not both."),
        ({"similarity": None}, "propagate: no parameter 'similarity'."),
    ],
)
def test_wrong_words_are_answered_with_help(tmp_path, settings, words):
    with pytest.raises(fv.InputError) as caught:
        fv.propagate(*tables(tmp_path, IDS["texts"]), folder=tmp_path / "a", **ROLES | settings)
    assert words in str(caught.value)


# --- killed, changed, damaged -----------------------------------------------------------------------------------------


class KilledError(BaseException):
    """Stands for the end of the process."""


STEPS = [
    (duckdb, "decide_rules"), (duckdb, "read_rows"), (duckdb, "partition"), (duckdb, "build_blocks"),
    (duckdb, "degree_factors"), (duckdb, "write_folder"), (block_products, "_write_at"), (link_blocks, "_save"),
    (node_rows, "_fit"),
]  # fmt: skip


@pytest.mark.parametrize(("module", "name"), STEPS, ids=[name for _, name in STEPS])
@pytest.mark.parametrize("when", [1, 3])
def test_stopped_anywhere_it_goes_on_to_the_same_bytes(tmp_path, monkeypatch, module, name, when):
    nodes, edges = tables(tmp_path, IDS["texts"])
    whole = fv.propagate(nodes, edges, folder=tmp_path / "whole", engine="duckdb", **ROLES)
    calls, work = 0, getattr(module, name)

    def stop(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == when:
            raise KilledError
        return work(*arguments, **named)

    monkeypatch.setattr(module, name, stop)
    try:
        fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", **ROLES)
    except KilledError:
        with pytest.raises(fv.InputError, match="unfinished; run the same `propagate` again, it goes on"):
            fv.open_propagated(tmp_path / "killed")
    monkeypatch.setattr(module, name, work)
    resumed = fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", **ROLES)
    names = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert sorted(path.name for path in (tmp_path / "killed").iterdir()) == names
    for part in names:
        assert (tmp_path / "killed" / part).read_bytes() == (tmp_path / "whole" / part).read_bytes()
    assert resumed.sha256 == whole.sha256


@pytest.mark.parametrize("widths", [(3, 2), (2, 3)], ids=["less", "more"])
@pytest.mark.parametrize("step", ["multiply", "write_folder"])
def test_it_goes_on_with_another_memory(tmp_path, monkeypatch, widths, step):
    nodes, edges = tables(tmp_path, IDS["texts"])
    whole = fv.propagate(nodes, edges, folder=tmp_path / "whole", engine="duckdb", **ROLES)
    calls, work = 0, getattr(duckdb, step)

    def stop(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == (3 if step == "multiply" else 1):
            raise KilledError
        return work(*arguments, **named)

    monkeypatch.setattr(duckdb, step, stop)
    monkeypatch.setattr(budget.Budget, "width", lambda *_: widths[0])
    with pytest.raises(KilledError):
        fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", memory="8GB", **ROLES)
    monkeypatch.setattr(duckdb, step, work)
    monkeypatch.setattr(budget.Budget, "width", lambda *_: widths[1])
    resumed = fv.propagate(nodes, edges, folder=tmp_path / "killed", engine="duckdb", memory="4GB", **ROLES)
    assert resumed.sha256 == whole.sha256


def test_links_and_cells_are_gone_from_the_disk_before_the_parts_are_written(tmp_path, monkeypatch):
    nodes, edges = tables(tmp_path, IDS["texts"])
    left: list[str] = []
    write = duckdb.write_folder

    def look(folder: Path, *given: Any, **facts: Any) -> Any:
        left.extend(path.name for path in (folder / ".work").glob("*.bin"))
        return write(folder, *given, **facts)

    monkeypatch.setattr(duckdb, "write_folder", look)
    fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)
    assert sorted(left) == ["hop-0-0.bin", "hop-1-0.bin", "hop-2-0.bin"]


def test_a_table_that_changed_since_is_noticed(tmp_path, monkeypatch):
    nodes, edges = tables(tmp_path, IDS["texts"])
    monkeypatch.setattr(duckdb, "degree_factors", lambda *_: (_ for _ in ()).throw(KilledError()))
    with pytest.raises(KilledError):
        fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)
    monkeypatch.undo()
    changed(nodes, a=pl.col("a") + 1)
    with pytest.raises(fv.InputError, match="holds an unfinished propagation of other tables or with other settings"):
        fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)


def test_a_finished_folder_is_returned_and_never_replaced(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    first = fv.propagate(nodes, edges, folder=tmp_path / "a", **ROLES)
    before = (tmp_path / "a" / "manifest.json").stat().st_mtime_ns
    assert fv.propagate(nodes, edges, folder=tmp_path / "a", **ROLES).sha256 == first.sha256
    assert (tmp_path / "a" / "manifest.json").stat().st_mtime_ns == before
    said = {"drop": [], "missing": "error", "directed": None}  # as they are unless something else is said
    assert fv.propagate(nodes, edges, folder=tmp_path / "a", **ROLES, **said).sha256 == first.sha256
    with pytest.raises(fv.InputError, match="holds a propagation of other tables or with other settings"):
        fv.propagate(nodes, edges, folder=tmp_path / "a", **ROLES, hops=1)


def test_damaged_folders_are_refused(tmp_path):
    folder = tmp_path / "a"
    fv.propagate(*tables(tmp_path, IDS["texts"]), folder=folder, engine="duckdb", **ROLES)
    part, manifest = folder / "part-00001.parquet", folder / "manifest.json"
    content, document = part.read_bytes(), manifest.read_text()
    part.write_bytes(content[:-7])
    with pytest.raises(fv.InputError, match=r"part-00001\.parquet: has [\d,]+ bytes, and manifest\.json records"):
        fv.open_propagated(folder)
    part.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    with pytest.raises(fv.InputError, match=r"part-00001\.parquet: does not match its sha256 in manifest\.json"):
        fv.open_propagated(folder).check()
    part.unlink()
    with pytest.raises(fv.InputError, match=r"part-00001\.parquet: is missing, although manifest\.json records it"):
        fv.open_propagated(folder)
    part.write_bytes(content)
    manifest.write_text(document.replace('"nodes": 400', '"nodes": 401'))
    with pytest.raises(fv.InputError, match=r"manifest\.json: does not match its own sha256"):
        fv.open_propagated(folder)
    manifest.write_text("[]")
    with pytest.raises(fv.InputError, match=r"manifest\.json: holds no JSON object"):
        fv.open_propagated(folder)


def test_no_part_replaces_an_input_or_a_table_of_somebody_elses(tmp_path):
    nodes, edges = tables(tmp_path, IDS["texts"])
    (tmp_path / "people").mkdir()
    part = tmp_path / "people" / "part-00000.parquet"
    nodes.rename(part)
    before = part.read_bytes()
    with pytest.raises(
        fv.InputError, match=r"part-00000\.parquet: the graph was read from it; folder can't replace it"
    ):
        fv.propagate(tmp_path / "people", edges, folder=tmp_path / "people", **ROLES)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "part-00007.parquet").write_bytes(before)
    with pytest.raises(fv.InputError, match=r"part-00007\.parquet: exists, and was not written by fairview"):
        fv.propagate(part, edges, folder=tmp_path / "other", **ROLES)
    assert part.read_bytes() == before == (tmp_path / "other" / "part-00007.parquet").read_bytes()


def test_what_a_killed_process_left_is_not_taken_for_something_else(tmp_path, monkeypatch):
    nodes, edges = tables(tmp_path, IDS["texts"])
    monkeypatch.setattr(duckdb, "read_rows", lambda *_, **__: (_ for _ in ()).throw(KilledError()))
    with pytest.raises(KilledError):
        fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)
    monkeypatch.undo()
    pl.DataFrame({"job": ["x"]}).write_parquet(tmp_path / "a" / ".work" / "distinct.parquet")  # of another column
    made = fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)
    assert made.facts.classes == ("0", "1")
    (tmp_path / "a" / ".work").mkdir()  # killed after the manifest was written
    fv.propagate(nodes, edges, folder=tmp_path / "a", engine="duckdb", **ROLES)
    assert not (tmp_path / "a" / ".work").exists()
