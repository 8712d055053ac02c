from __future__ import annotations

import io
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

from fairview.data.datasets import describe, find_files, load_dataset
from fairview.data.datasets.published import read_edge_file


@pytest.fixture
def table(circulated) -> pl.DataFrame:
    with zipfile.ZipFile(circulated / "bail.zip") as archive:
        return pl.read_csv(io.BytesIO(archive.read("bail/bail.csv")))


def test_bail_has_the_statistics_of_the_docstring(circulated):
    graph, known = load_dataset("bail", data_dir=circulated), describe("bail")
    assert (graph.num_nodes, graph.num_edges, graph.num_channels) == (18_876, 311_870, 18)
    assert (known.nodes, known.edges, known.channels, known.edges_as_published) == (18_876, 311_870, 18, 321_308)
    assert (2 * graph.num_edges + graph.num_nodes) / 2 == 321_308
    assert round(graph.homophily(), 4) == known.homophily == 0.5221
    assert np.bincount(graph.labels).tolist() == [11_772, 7_104]
    assert graph.group_sizes == dict(zip(known.groups, (9_317, 9_559), strict=True))
    assert {name: int(mask.sum()) for name, mask in graph.splits.items()} == {"train": 100, "val": 4_719, "test": 4_719}
    assert graph.provenance.sha256 == {file.name: file.sha256 for file in known.files}


def test_the_published_test_split_has_the_base_rates_that_are_known_of_it(circulated):
    """A perfect predictor has a statistical parity gap of 5.37 % there; always "1" is right for 37.6 %."""
    graph = load_dataset("bail", data_dir=circulated)
    test = graph.splits["test"]
    rates = [graph.labels[test & (graph.sensitive == code)].mean() for code in (0, 1)]
    assert round(100 * abs(rates[0] - rates[1]), 2) == 5.37
    assert round(100 * graph.labels[test].mean(), 1) == 37.6


def test_channels_are_scaled_to_minus_one_and_one_but_for_the_sensitive_one(circulated, table):
    graph = load_dataset("bail", data_dir=circulated)
    columns = [name for name in table.columns if name != "RECID"]
    assert graph.channels == tuple(columns)
    values = table.select(columns).to_numpy().astype(np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    expected = 2 * (values - low) / (high - low) - 1
    expected[:, 0] = table["WHITE"].to_numpy()
    np.testing.assert_allclose(graph.features, expected, rtol=0, atol=1e-6)
    assert graph.sensitive_channels == ("WHITE",)
    assert (graph.sensitive == table["WHITE"].to_numpy()).all()
    assert (graph.labels == table["RECID"].to_numpy()).all()


def test_the_harms_count_right(table):
    assert int(((table["TIME"] > 0) == (table["RECID"] == 1)).sum()) == 18_762
    assert int((table["PRIORS"] == -9).sum()) == 1_347
    assert int((table["SCHOOL"] == 0).sum()) == 213
    assert int((table["FILE"] == 3).sum()) == 8_519


def test_bail_no_time_is_bail_without_that_channel(circulated):
    whole, honest = (load_dataset(name, data_dir=circulated) for name in ("bail", "bail-no-time"))
    assert honest.channels == tuple(name for name in whole.channels if name != "TIME")
    assert honest.num_channels == describe("bail-no-time").channels == 17
    assert (honest.features == whole.without_channels(["TIME"]).features).all()
    assert (honest.adjacency.indices == whole.adjacency.indices).all()
    assert all((honest.splits[name] == whole.splits[name]).all() for name in whole.splits)
    assert honest.provenance.source == "bail-no-time"


def test_bail_no_time_links_has_the_statistics_of_the_docstring(circulated, table):
    graph, known = load_dataset("bail-no-time-links", data_dir=circulated), describe("bail-no-time-links")
    assert (graph.num_nodes, graph.num_edges, graph.num_channels) == (known.nodes, known.edges, known.channels)
    assert (known.nodes, known.edges, known.channels) == (18_876, 336_215, 17)
    assert round(graph.homophily(), 4) == known.homophily == 0.5208
    without = load_dataset("bail-no-time", data_dir=circulated)
    assert graph.channels == without.channels
    assert (graph.features == without.features).all()
    assert all((graph.splits[name] == without.splits[name]).all() for name in without.splits)
    assert graph.provenance.sha256 == {"bail.csv": known.files[0].sha256}
    assert graph.provenance.notes[-1] == "links rebuilt by the threshold rule, t = 0.6, without TIME"


def test_the_links_without_time_do_not_change_when_time_does(circulated, table):
    """Two people are linked as the rule says on the other columns: checked by brute force for a few of them."""
    graph = load_dataset("bail-no-time-links", data_dir=circulated)
    values = table.drop("RECID", "TIME").to_numpy().astype(np.float64)
    linked = np.zeros((5, len(values)), dtype=bool)
    for place in range(5):
        similarity = 1 / (1 + np.linalg.norm(values - values[place], axis=1))
        similarity[place] = 0
        linked[place] = similarity > 0.6 * similarity.max()
    links = graph.adjacency.to_scipy()[:5].toarray() > 0
    assert linked.any(axis=1).all()
    assert (links | ~linked).all()  # what the rule says is there; the other links come from the other end


@pytest.mark.parametrize("layout", ["folder", "bare"])
def test_unpacked_files_give_the_same_graph(circulated, empty_home, layout):
    folder = empty_home / "bail" if layout == "folder" else empty_home
    folder.mkdir(parents=True)
    with zipfile.ZipFile(circulated / "bail.zip") as archive:
        for name in ("bail.csv", "bail_edges.txt"):
            (folder / name).write_bytes(archive.read(f"bail/{name}"))
    assert load_dataset("bail").sha256 == load_dataset("bail", data_dir=circulated).sha256


def test_without_its_edge_file_the_links_are_rebuilt_pair_by_pair(circulated, empty_home):
    empty_home.mkdir(parents=True)
    with zipfile.ZipFile(circulated / "bail.zip") as archive:
        (empty_home / "bail.csv").write_bytes(archive.read("bail/bail.csv"))
    rebuilt = load_dataset("bail")
    assert rebuilt.sha256 == load_dataset("bail", data_dir=circulated).sha256
    assert "links rebuilt by the threshold rule, t = 0.6" in rebuilt.provenance.notes
    assert set(rebuilt.provenance.sha256) == {"bail.csv"}


def test_a_copy_in_the_cache_is_found(circulated, empty_home):
    empty_home.mkdir(parents=True)
    shutil.copy(circulated / "bail.zip", empty_home)
    found = find_files("bail")
    assert found.at_hand
    assert str(found.places["bail.csv"]) == f"{empty_home / 'bail.zip'}:bail/bail.csv"


def test_an_edge_file_is_read_as_whole_numbers():
    pairs = read_edge_file(b"0.000000000000000000e+00 3.597000000000000000e+03\n")
    assert pairs.schema == {"source": pl.Int64, "target": pl.Int64}
    assert pairs.rows() == [(0, 3597)]
