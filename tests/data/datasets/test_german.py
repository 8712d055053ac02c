from __future__ import annotations

import hashlib
import zipfile
from importlib import resources

import numpy as np
import polars as pl
import pytest

from fairview.data.datasets import describe, load_dataset
from fairview.data.datasets.german import CODES, UCI_SHA256, german_edges, german_table, load_german
from fairview.errors import InputError

CIRCULATED_TABLE = "49cc549b1ca3f1650e3bdcd8cfce62313c763abfbcbf785d32b07fb76ae078ca"
CIRCULATED_EDGES = "404d107384e05a14ce9befe04a710d7df0a7492095569dc35ffb5d47742ee300"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return german_table()


@pytest.fixture(scope="module")
def pairs(table) -> tuple[np.ndarray, np.ndarray]:
    edges, _ = german_edges(table)
    return edges["source"].to_numpy(), edges["target"].to_numpy()


# --- without any file: the hashes of the circulated files are known ---------------------------------------------------


def test_the_derived_table_is_the_circulated_one_byte_for_byte(table):
    as_circulated = table.write_csv(line_terminator="\r\n").removesuffix("\r\n")
    assert sha256(as_circulated.encode()) == CIRCULATED_TABLE


def test_the_rebuilt_links_are_the_circulated_ones_byte_for_byte(pairs):
    source, target = pairs
    as_circulated = "".join(
        f"{i:.18e} {j:.18e}\n" for i, j in sorted(zip(source.tolist(), target.tolist(), strict=True))
    )
    assert sha256(as_circulated.encode()) == CIRCULATED_EDGES


def test_the_bundled_table_is_ucis_and_comes_with_its_attribution():
    folder = resources.files("fairview.data.datasets")
    assert sha256(folder.joinpath("uci_german.data").read_bytes()) == UCI_SHA256
    attribution = folder.joinpath("uci_german.ATTRIBUTION.txt").read_text("utf-8")
    assert all(words in attribution for words in ("Hans Hofmann", "CC BY 4.0", "10.24432/C5NC77", "1994", UCI_SHA256))


def test_every_column_is_one_attribute_and_every_code_of_it_occurs(table):
    attributes = [
        line.split()
        for line in resources.files("fairview.data.datasets").joinpath("uci_german.data").read_text().splitlines()
    ]
    for name, (number, codes) in CODES.items():
        present = {row[number - 1] for row in attributes}
        if codes is not None:
            assert set(codes) <= present, name
    assert len(CODES) == table.width == 30
    assert not any(row[8] == "A95" for row in attributes)


def test_missed_payments_is_the_other_way_round_as_the_harms_say(table):
    attributes = [
        line.split()
        for line in resources.files("fairview.data.datasets").joinpath("uci_german.data").read_text().splitlines()
    ]
    delayed = [row[2] == "A33" for row in attributes]
    assert [value == 0 for value in table["MissedPayments"]] == delayed
    assert table["OtherLoansAtStore"].sum() == 0


def test_the_graph_has_the_statistics_of_the_docstring(pairs):
    graph, known = load_dataset("german"), describe("german")
    assert (graph.num_nodes, graph.num_edges, graph.num_channels) == (1_000, 21_742, 27)
    assert (known.nodes, known.edges, known.channels, known.edges_as_published) == (1_000, 21_742, 27, 22_242)
    assert len(pairs[0]) == 24_970
    assert (2 * graph.num_edges + graph.num_nodes) / 2 == 22_242
    assert round(graph.homophily(), 4) == known.homophily == 0.8048
    assert graph.classes == known.classes == ("bad", "good")
    assert np.bincount(graph.labels).tolist() == [300, 700]
    assert graph.group_sizes == {"Male": 690, "Female": 310}
    assert tuple(graph.groups) == known.groups
    assert {name: int(mask.sum()) for name, mask in graph.splits.items()} == {"train": 100, "val": 250, "test": 250}
    assert {name: int(graph.labels[mask].sum()) for name, mask in graph.splits.items()} == {
        "train": 50,
        "val": 175,
        "test": 175,
    }


def test_channels_are_the_tables_columns_in_order_unscaled_with_gender_among_them(table):
    graph = load_german()
    columns = [name for name in table.columns if name not in ("GoodCustomer", "OtherLoansAtStore", "PurposeOfLoan")]
    assert graph.channels == tuple(columns)
    assert graph.sensitive_channels == ("Gender",)
    expected = table.select(columns).with_columns(Gender=pl.col("Gender") == "Female").cast(pl.Float32).to_numpy()
    assert (graph.features == expected).all()
    assert (graph.sensitive == expected[:, 0]).all()
    assert (graph.labels == (table["GoodCustomer"] == 1).to_numpy()).all()


def test_provenance_names_the_table_and_what_was_done_to_it():
    provenance = load_german().provenance
    assert provenance.source == "german"
    assert provenance.sha256 == {"uci_german.data": UCI_SHA256}
    assert {"table derived from UCI's codes", "links rebuilt by the threshold rule, t = 0.8"} <= set(provenance.notes)


def test_the_graph_does_not_depend_on_the_environment(monkeypatch, tmp_path):
    first = load_dataset("german").sha256
    monkeypatch.setenv("FAIRVIEW_DATA", str(tmp_path / "nowhere"))
    (tmp_path / "german.zip").write_bytes(b"not a zip archive")
    assert load_dataset("german", data_dir=tmp_path).sha256 == first


def test_a_damaged_installation_is_noticed(monkeypatch, tmp_path):
    (tmp_path / "uci_german.data").write_bytes(b"A11 6 A34\n")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    with pytest.raises(
        InputError, match=r"^uci_german\.data: sha256 \w{64}, expected b21f3d81\w{56}\. Install fairview again\.$"
    ):
        german_table()


def test_windows_line_ends_of_a_checkout_do_no_harm(monkeypatch, tmp_path, table):
    content = resources.files("fairview.data.datasets").joinpath("uci_german.data").read_bytes()
    (tmp_path / "uci_german.data").write_bytes(content.replace(b"\n", b"\r\n"))
    monkeypatch.setattr(resources, "files", lambda _: tmp_path)
    assert german_table().equals(table)


# --- with the circulated files ----------------------------------------------------------------------------------------


def test_all_30_columns_and_1000_rows_equal_the_circulated_table(circulated, table):
    with zipfile.ZipFile(circulated / "german.zip") as archive:
        theirs = pl.read_csv(archive.read("german/german.csv"))
    assert table.schema == theirs.schema
    assert [name for name in theirs.columns if table[name].to_list() != theirs[name].to_list()] == []


def test_every_pair_equals_the_circulated_edge_file(circulated, pairs):
    with zipfile.ZipFile(circulated / "german.zip") as archive:
        theirs = np.loadtxt(archive.open("german/german_edges.txt")).astype(int)
    assert set(zip(*(side.tolist() for side in pairs), strict=True)) == set(map(tuple, theirs.tolist()))
