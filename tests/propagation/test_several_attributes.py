"""A folder with several sensitive attributes is the graph that `read_graph` makes of the same tables."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.attributes import Attribute
from fairview.data.splits import with_default_split
from fairview.methods import folder_evaluation
from fairview.propagation import sampling
from fairview.propagation.sampling import labelled_rows

N = 600
READING: dict[str, Any] = {"label": "ok", "sensitive": ["race", "sex"]}
Tables = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def tables(crossed) -> Tables:
    """People of whom the combination of race and sex says what neither does; labels and groups of some not known."""
    made, draw = crossed(N), np.random.default_rng(1)
    blank = {name: pl.Series(draw.random(N) < share) for name, share in (("race", 0.1), ("sex", 0.05), ("ok", 0.2))}
    race, sex = (np.array(each.groups)[each.codes] for each in made.attributes)
    people = pl.DataFrame(
        {"id": made.ids, "race": race, "sex": sex, "ok": made.labels}
        | {name: made.features[:, place] for place, name in enumerate(made.channels)}
    ).with_columns(pl.when(~gone).then(pl.col(name)).alias(name) for name, gone in blank.items())
    ends = {"source": made.adjacency.sources.astype(str), "target": made.adjacency.indices.astype(str)}
    return people, pl.DataFrame(ends)


@pytest.fixture(scope="module")
def graph(tables) -> fv.NodeGraph:
    return fv.read_graph(*tables, split_seed=4, **READING)


@pytest.fixture(scope="module")
def propagated(tables, tmp_path_factory) -> Callable[..., fv.Propagated]:
    """The folder of the tables, with the split of the graph unless said otherwise."""

    def made(**settings: Any) -> fv.Propagated:
        return fv.propagate(*tables, folder=tmp_path_factory.mktemp("f"), **READING | {"split_seed": 4} | settings)

    return made


@pytest.fixture(scope="module")
def folder(propagated) -> fv.Propagated:
    return propagated()


# --- what the folder holds --------------------------------------------------------------------------------------------


def test_every_attribute_has_a_column_of_its_own(folder, graph):
    frame = pl.concat(folder.frames())
    assert frame.columns[:5] == ["id", "label", "sensitive:race", "sensitive:sex", "split"]
    told = graph.to_frame()
    for name in ("id", "sensitive:race", "sensitive:sex", "split"):
        assert frame[name].to_list() == told[name].to_list(), name
    assert frame.select(pl.col("^sensitive:.*$").null_count()).row(0) == (57, 28)


def test_the_rows_are_those_of_dense_matrices(folder, graph):
    links = graph.adjacency.to_scipy().toarray().astype(np.float64) + np.eye(N)
    operator = links / np.sqrt(np.outer(links.sum(axis=0), links.sum(axis=0)))
    values = graph.features.astype(np.float64)
    frame = pl.concat(folder.frames())
    for hop in range(3):
        stored = frame.select(f"{channel}@{hop}" for channel in graph.channels).to_numpy()
        assert np.abs(stored - values).max() < 1e-5
        values = operator @ values


def test_sizes_and_pairs_are_those_of_the_graph(folder, graph):
    views = {each.name: each for each in folder.facts.views}
    assert list(views) == ["race", "sex", "race & sex"]
    for name, held in views.items():
        alone = graph.attribute(name)
        assert (held.groups, held.group_sizes) == (alone.groups, alone.group_sizes)
        ends = zip(graph.adjacency.sources, graph.adjacency.indices, strict=True)
        pairs = [(alone.sensitive[first], alone.sensitive[second]) for first, second in ends]
        known = [(a, b) for a, b in pairs if a >= 0 and b >= 0]
        assert held.known_groups == len(known)
        assert held.same_group == sum(a == b for a, b in known)
    assert folder.facts.notes == graph.provenance.notes


def test_a_folder_of_one_attribute_is_as_it_always_was(tables, tmp_path):
    made = [
        fv.propagate(*tables, folder=tmp_path / str(number), label="ok", sensitive=sensitive, drop=["race"])
        for number, sensitive in enumerate(["sex", ["sex"], ["sex", "sex"]])
    ]
    manifests = [(each.folder / "manifest.json").read_bytes() for each in made]
    assert len(set(manifests)) == 1
    document = json.loads(manifests[0])
    assert "attributes" not in document
    assert document["groups"] == ["f", "m"]
    assert [name for name in next(made[0].frames()).columns if "@" not in name] == ["id", "label", "sensitive"]


# --- as a graph -------------------------------------------------------------------------------------------------------


def test_the_loaded_graph_has_the_attributes_of_the_graph(folder, graph):
    loaded = folder.graph()
    assert loaded.several
    for one, other in zip(loaded.attributes, graph.attributes, strict=True):
        assert (one.name, one.groups, one.channels) == (other.name, other.groups, other.channels)
        assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(loaded.sensitive, graph.sensitive)
    assert np.array_equal(folder.sensitive(), graph.sensitive)
    assert all(np.array_equal(loaded.splits[name], graph.splits[name]) for name in ("train", "val", "test"))
    for name in ("race", "sex", "race & sex"):
        assert loaded.attribute(name).homophily() == graph.attribute(name).homophily()
        assert np.array_equal(folder.codes_of(name), graph.attribute(name).sensitive)


def test_links_within_groups_that_the_folder_does_not_know_are_not_made_up(folder):
    other = folder.graph().with_attributes([Attribute("age", np.zeros(N, dtype=np.int16), ("old",))])
    with pytest.raises(fv.InputError, match=r"it holds no links, so that it can't give the links within groups of 'a"):
        other.homophily()


def test_without_a_split_the_drawn_one_is_that_of_the_graph(propagated, graph):
    expected, notes = with_default_split(graph.with_splits({}))
    labelled = labelled_rows(propagated(split_seed=None))
    for name, mask in expected.splits.items():
        assert np.array_equal(labelled.rows[labelled.of(name)], np.flatnonzero(mask))
    assert labelled.notes == notes


def test_a_sample_of_labelled_nodes_keeps_the_share_of_every_combination(folder, monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 10)
    monkeypatch.setattr(sampling, "_others", lambda *_: np.empty(0, dtype=np.int64))
    sample, whole = folder.sample(rows=300), folder.graph()
    share = sample.num_nodes / whole.labelled.sum()
    assert 0.25 < share < 0.4
    for name, label, code in itertools.product(whole.splits, (0, 1), range(4)):
        taken, of = (
            (each.splits[name] & (each.labels == label) & (each.sensitive == code)).sum() for each in (sample, whole)
        )
        assert abs(taken - share * of) <= 1


# --- methods and metrics ----------------------------------------------------------------------------------------------


def test_fairvgnn_learns_from_the_folder_what_it_learns_from_the_graph(folder, graph, one_thread):
    from_graph, from_folder = (fv.FairVGNN(epochs=3, views=2, seed=1).fit(each) for each in (graph, folder))
    expected = from_graph.predict_proba(graph)
    assert np.array_equal(from_folder.predict_proba(folder), expected)
    told = fv.evaluate(from_graph, graph, intervals=True)
    again = fv.evaluate(from_folder, folder, intervals=True)
    assert again.to_dict() == told.to_dict()
    assert list(again.attributes) == ["race", "sex", "race & sex"]


def test_thresholds_for_each_combination_are_applied_to_a_folder(folder, graph, one_thread):
    model = fv.GroupThresholds().fit(graph)
    assert np.array_equal(model.predict_proba(folder), model.predict_proba(graph))


def test_beyond_a_million_nodes_the_auc_alone_has_no_interval(folder, graph, monkeypatch):
    model = fv.LogisticRegression().fit(graph)
    whole = fv.evaluate(model, folder, intervals=True)
    monkeypatch.setattr(folder_evaluation, "MOST_RESAMPLED", 10)
    large = fv.evaluate(model, folder, intervals=True)
    assert large.intervals["auc"].reason == "it is not resampled over more than 10 nodes"
    assert large.intervals["statistical_parity_gap"] == whole.intervals["statistical_parity_gap"]
    for name, part in whole.attributes.items():
        assert large.attributes[name].intervals == part.intervals
    assert large.intervals["accuracy"].low == pytest.approx(whole.intervals["accuracy"].low, abs=0.02)


def test_an_attribute_of_one_group_is_no_ground_to_train_on(tables, tmp_path):
    people, links = tables
    one = people.with_columns(sex=pl.when(pl.col("sex") == "f").then(pl.col("sex")))
    folder = fv.propagate(one, links, folder=tmp_path, **READING)
    with pytest.raises(fv.InputError, match="train: the sensitive attribute 'sex' has fewer than two groups"):
        fv.FairVGNN(epochs=1).fit(folder)


# --- verification -----------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(propagated) -> Path:
    return propagated().folder


def forged(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    from fairview.manifest import file_sha256, sealed

    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    for part in document["parts"]:
        part["bytes"] = (folder / part["name"]).stat().st_size
        document["files"][part["name"]] = file_sha256(folder / part["name"])
    change(document)
    path.write_text(sealed(document))


def test_a_whole_folder_is_verified(copy):
    found = fv.verify(copy)
    assert (found.ok, found.recomputed) == (True, True)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("x", "sensitive:sex: 'x' is none of 'f', 'm'."),
        ("f", "manifest.json: group_sizes of 'sex' is "),
        ("f", "manifest.json: group_sizes of 'race & sex' is "),
    ],
)
def test_groups_that_were_forged_are_noticed(copy, value, problem):
    part = copy / "part-00000.parquet"
    pl.read_parquet(part).with_columns(pl.lit(value).alias("sensitive:sex")).write_parquet(part)
    forged(copy, lambda _: None)
    assert any(each.startswith(problem) for each in fv.verify(copy).problems)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda document: document["attributes"].pop(), "its sensitive attributes are not those of its recipe"),
        (
            lambda document: document["attributes"][0].update(name="age"),
            "its sensitive attributes are not those of its recipe",
        ),
        (
            lambda document: (
                document.update(groups=[], group_sizes={}),
                document["attributes"][0].update(groups=[], group_sizes={}),
                document["recipe"]["sensitive"].update(groups=[]),
            ),
            "its sensitive attributes are not those of its recipe",
        ),
        (
            lambda document: document["attributes"][1]["group_sizes"].update(x=3),
            "its group sizes are not those of its groups",
        ),
    ],
)
def test_a_manifest_whose_attributes_do_not_fit_is_refused(copy, change, problem):
    forged(copy, change)
    with pytest.raises(fv.InputError, match=rf"manifest\.json: not a manifest of this version \({problem}\)"):
        fv.open_propagated(copy)
