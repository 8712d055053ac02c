from __future__ import annotations

import dataclasses
import hashlib
import shutil
import zipfile

import numpy as np
import polars as pl
import pytest

from fairview.data.datasets import describe, find_files, load_dataset, registry
from fairview.errors import DataNotFoundError, InputError

EDGES = b"0.0e+00 1.0e+00\n1.0e+00 2.0e+00\n"


@pytest.fixture
def table(circulated) -> pl.DataFrame:
    return pl.read_csv(circulated / "credit.csv")


def test_credit_small_has_the_statistics_of_the_docstring(circulated, table):
    graph, known = load_dataset("credit-small", data_dir=circulated), describe("credit-small")
    assert (graph.num_nodes, graph.num_edges, graph.num_channels) == (30_000, 137_377, 13)
    assert (known.nodes, known.edges, known.channels, known.edges_as_published) == (30_000, 137_377, 13, 152_377)
    assert round(graph.homophily(), 4) == known.homophily == 0.8790
    assert np.bincount(graph.labels).tolist() == [6_636, 23_364]
    assert graph.group_sizes == {"25 or older": 27_315, "under 25": 2_685}
    sizes = {name: (int(mask.sum()), int(graph.labels[mask].sum())) for name, mask in graph.splits.items()}
    assert sizes == {"train": (6_000, 3_000), "val": (7_500, 5_841), "test": (7_500, 5_841)}
    assert graph.channels == tuple(name for name in table.columns if name not in ("NoDefaultNextMonth", "Single"))
    assert graph.sensitive_channels == ("Age",)
    lowest = {name: float(low) for name, low in zip(graph.channels, graph.features.min(axis=0), strict=True)}
    assert lowest == {name: 0.0 if name == "Age" else -1.0 for name in graph.channels}
    assert (graph.features.max(axis=0) == 1).all()


def test_the_first_client_of_the_table_is_in_the_young_group(table):
    """UCI's first client is 24 years old and married, the second 26 and single."""
    assert table.select("Age", "Married").head(2).rows() == [(1, 1), (0, 0)]


# --- the large graph: only the first digits of its edge file's hash are known -----------------------------------------


@pytest.fixture
def pinned_to_our_edges(monkeypatch) -> None:
    """A stand-in for the large graph's file, which does not circulate with the others."""
    large = describe("credit-large")
    table, edges = large.files
    edges = dataclasses.replace(edges, sha256=hashlib.sha256(EDGES).hexdigest()[:8])
    monkeypatch.setattr(
        registry, "DATASETS", {"credit-large": dataclasses.replace(large, files=(table, edges), edges=2)}
    )


@pytest.mark.parametrize("packed", [True, False])
def test_credit_large_is_recognised_by_the_first_digits(circulated, empty_home, pinned_to_our_edges, packed):
    empty_home.mkdir(parents=True)
    shutil.copy(circulated / "credit.csv", empty_home)
    if packed:
        with zipfile.ZipFile(empty_home / "credit_edges.txt.zip", "w") as archive:
            archive.writestr("credit_edges.txt", EDGES)
    else:
        (empty_home / "credit_edges.txt").write_bytes(EDGES)
    graph = load_dataset("credit-large")
    assert (graph.num_nodes, graph.num_edges) == (30_000, 2)
    assert "links from credit_edges.txt, known by the first digits of its sha256" in graph.provenance.notes


def test_a_file_with_the_right_digits_but_other_edges_is_refused(
    circulated, empty_home, pinned_to_our_edges, monkeypatch
):
    (only,) = registry.DATASETS.values()
    monkeypatch.setattr(registry, "DATASETS", {"credit-large": dataclasses.replace(only, edges=1_421_858)})
    empty_home.mkdir(parents=True)
    shutil.copy(circulated / "credit.csv", empty_home)
    (empty_home / "credit_edges.txt").write_bytes(EDGES)
    with pytest.raises(InputError, match=r"credit_edges\.txt: 2 edges, but the large Credit graph has 1,421,858\."):
        load_dataset("credit-large")


def test_another_edge_file_is_refused_with_the_digits_that_are_known(circulated, empty_home):
    empty_home.mkdir(parents=True)
    shutil.copy(circulated / "credit.csv", empty_home)
    (empty_home / "credit_edges.txt").write_bytes(EDGES)
    with pytest.raises(InputError) as caught:
        load_dataset("credit-large")
    assert str(caught.value) == (
        f"{empty_home / 'credit_edges.txt'}: not the file that credit-large is made of: "
        f"sha256 {hashlib.sha256(EDGES).hexdigest()}, expected one that begins with a6e6ea85. "
        "Replace it, or move it away."
    )


def test_the_digits_may_be_those_of_the_archive(empty_home, monkeypatch):
    empty_home.mkdir(parents=True)
    with zipfile.ZipFile(empty_home / "credit_edges.txt.zip", "w") as archive:
        archive.writestr("credit_edges.txt", EDGES)
    large = describe("credit-large")
    digits = hashlib.sha256((empty_home / "credit_edges.txt.zip").read_bytes()).hexdigest()[:8]
    edges = dataclasses.replace(large.files[1], sha256=digits)
    monkeypatch.setattr(registry, "DATASETS", {"credit-large": dataclasses.replace(large, files=(edges,))})
    assert find_files("credit-large").read("credit_edges.txt") == EDGES


def test_credit_large_says_that_it_cannot_be_downloaded(empty_home):
    assert describe("credit-large").edges_as_published == 1_436_858
    for attempt in (load_dataset, registry.fetch_dataset):
        with pytest.raises(DataNotFoundError) as caught:
            attempt("credit-large")
        assert str(caught.value) == (
            "credit-large: not at hand. Put credit.csv and credit_edges.txt (the file whose sha256 begins with "
            f"a6e6ea85) into {empty_home}, or name the folder with data_dir or FAIRVIEW_DATA. It can't be downloaded."
        )
