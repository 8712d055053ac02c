from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.data.splits import with_default_split
from fairview.propagation import sampling
from fairview.propagation.sampling import labelled_rows, row_budget, training_sample, uniform_sample


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 10)


def test_a_folder_that_fits_is_loaded_whole(propagated, own_tables):
    folder = propagated()
    assert training_sample(folder).ids == uniform_sample(folder).ids == own_tables.graph().ids
    assert training_sample(folder).provenance.notes == folder.facts.notes


def test_the_budget_depends_on_the_width_of_a_row(propagated):
    facts = propagated().facts
    assert row_budget(facts) == sampling.MOST_ROWS
    wide = facts.model_copy(update={"channels": tuple(f"c{j}" for j in range(10_000))})
    assert row_budget(wide) == sampling.MOST_NUMBERS // 30_000
    assert row_budget(facts, 5000) == 5000


@pytest.mark.parametrize("rows", [999, 0, "many", 1e6])
def test_a_budget_that_is_none_is_refused(propagated, rows):
    with pytest.raises(fv.InputError, match=r"^rows: .*; expected a whole number, at least 1,000\.$"):
        propagated().sample(rows=rows)


def test_the_drawn_split_is_that_of_the_whole_graph(propagated, own_tables):
    graph, _ = with_default_split(own_tables.graph())
    labelled = labelled_rows(propagated())
    for name in ("train", "val", "test"):
        assert labelled.rows[labelled.of(name)].tolist() == np.flatnonzero(graph.split(name)).tolist()
    assert labelled.notes == ("The graph has no split: a stratified one was drawn with seed 0.",)


def test_a_sample_keeps_the_splits_of_the_whole(propagated, own_tables, small):
    graph, _ = with_default_split(own_tables.graph())
    sample = propagated().sample(rows=600)
    rows = np.searchsorted(graph.ids, sample.ids)
    assert [graph.ids[row] for row in rows] == list(sample.ids)
    for name, mask in sample.splits.items():
        assert mask.tolist() == graph.split(name)[rows].tolist()
    assert np.array_equal(sample.features, graph.features[rows])
    assert np.array_equal(sample.labels, graph.labels[rows])


def test_all_labelled_nodes_stay_if_they_fit(own_tables, tmp_path):
    """Half of the rows are theirs."""
    split = ["train"] * 60 + ["val"] * 30 + ["test"] * 30 + [""] * 1380
    people = pl.read_parquet(own_tables.nodes).sort("id").with_columns(part=pl.Series(split))
    folder = fv.propagate(
        people, pl.read_parquet(own_tables.edges), folder=tmp_path, split="part", **own_tables.reading
    )
    sample = folder.sample(rows=1000)
    of_whole = folder.graph()
    for name in ("train", "val", "test"):
        kept, there = (int((each.split(name) & each.labelled).sum()) for each in (sample, of_whole))
        assert kept == there > 20
    assert "(all of them in the splits)" in sample.provenance.notes[-1]


def test_a_sample_of_labelled_nodes_is_stratified(propagated, small):
    folder = propagated()
    sample, whole = folder.sample(rows=400), folder.graph()
    for code in range(2):
        for label in range(2):
            share = ((sample.sensitive == code) & (sample.labels == label)).mean()
            assert share == pytest.approx(((whole.sensitive == code) & (whole.labels == label)).mean(), abs=0.06)


def test_a_sample_depends_on_its_seed_alone(propagated, small):
    folder = propagated()
    assert folder.sample(rows=300).sha256 == folder.sample(rows=300).sha256
    assert folder.sample(rows=300).ids != folder.sample(rows=300, seed=1).ids
    assert uniform_sample(folder, rows=300).ids == uniform_sample(folder, rows=300).ids


def test_a_sample_says_what_it_is(propagated, small):
    note = propagated().sample(rows=300).provenance.notes[-1]
    assert note.startswith("300 of 1,500 nodes were loaded: ")
    assert note.endswith(
        "labelled ones (stratified by label and group in the splits) and a uniform sample of the others, drawn with "
        "seed 0"
    )
    uniform = uniform_sample(propagated(), rows=300).provenance.notes[-1]
    assert uniform == "300 of 1,500 nodes were loaded: a uniform sample, drawn with seed 0"


def test_every_node_is_drawn_equally_often(propagated, small):
    folder = propagated()
    counts = dict.fromkeys(folder.graph().ids, 0)
    for seed in range(60):
        for name in uniform_sample(folder, rows=750, seed=seed).ids:
            counts[name] += 1
    spread = np.array(list(counts.values())) / 60
    assert spread.mean() == 0.5
    assert spread.std() < 0.08  # 0.065 expected
    assert 0.2 < spread.min() <= spread.max() < 0.8


def test_free_rows_are_never_taken_ones():
    draw = np.random.default_rng(0)
    taken = np.array([0, 1, 5, 9])
    assert sorted(sampling._others(taken, 10, 6, draw).tolist()) == [2, 3, 4, 6, 7, 8]


def test_no_split_of_that_name(propagated):
    with pytest.raises(fv.InputError, match=r"^no split 'tests'\. Did you mean 'test'\?$"):
        labelled_rows(propagated()).of("tests")
