from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import cdist

from fairview.data.similarity import neighbourhoods
from fairview.data.similarity import rules as similarity
from fairview.data.similarity.rules import (
    NearestNeighbours,
    SimilarityRule,
    SimilarityThreshold,
    nearest_neighbour_pairs,
    threshold_pairs,
)
from fairview.errors import InputError

Pairs = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def all_pairs_threshold(rows: npt.NDArray[np.float64], threshold: float) -> Pairs:
    """The rule as the datasets' description puts it, over all pairs."""
    alike = 1 / (1 + cdist(rows, rows))
    np.fill_diagonal(alike, -1)
    best = alike.max(axis=1, keepdims=True, initial=0)
    return np.nonzero(alike > threshold * best)


def all_pairs_nearest(rows: npt.NDArray[np.float64], neighbours: int) -> Pairs:
    apart = cdist(rows, rows)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1, kind="stable")[:, : min(neighbours, len(rows) - 1)]
    return np.repeat(np.arange(len(rows)), nearest.shape[1]), np.sort(nearest, axis=1).ravel()


def assert_same(found: Pairs, expected: Pairs) -> None:
    assert found[0].dtype == found[1].dtype == np.int64
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.fixture(params=["tree", "product"])
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Fix which of the two searches is used, in blocks so small that several are needed."""
    slow = "_ProductSearch" if request.param == "tree" else "_TreeSearch"
    monkeypatch.setattr(neighbourhoods, "SMALL", 1)
    monkeypatch.setattr(neighbourhoods, "BLOCK", 64)
    monkeypatch.setattr(neighbourhoods, "_seconds", lambda search, _: float(type(search).__name__ == slow))
    return str(request.param)


grids = hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 4)), elements=st.integers(-2, 2).map(float))
floats = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 25), st.integers(1, 6)), elements=st.floats(-1e6, 1e6, allow_subnormal=True)
)
badly_scaled = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 15), st.integers(1, 4)), elements=st.floats(-1e149, 1e149)
)
tables = st.one_of(grids, floats, badly_scaled, grids.map(lambda rows: rows / 10 + 1e6))
thresholds = st.one_of(st.sampled_from([0.5, 0.6, 0.7, 0.8, 1.0]), st.floats(1e-300, 1.0))


# --- the threshold rule -----------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(rows=tables, threshold=thresholds)
def test_threshold_links_what_comparing_all_pairs_links(rows: npt.NDArray[np.float64], threshold: float) -> None:
    assert_same(threshold_pairs(rows, threshold=threshold), all_pairs_threshold(rows, threshold))


@pytest.mark.parametrize("channels", [1, 3, 30])
@pytest.mark.parametrize("threshold", [0.3, 0.7, 0.95])
def test_both_searches_link_what_comparing_all_pairs_links(search: str, channels: int, threshold: float) -> None:
    rng = np.random.default_rng(channels)
    for rows in (
        rng.normal(size=(150, channels)),
        rng.integers(0, 3, size=(150, channels)).astype(float),
        rng.normal(size=(150, channels)) * 10.0 ** rng.integers(-4, 5, size=(150, 1)),  # some rows far, some near
        rng.integers(0, 3, size=(150, channels)) * 1e-3 + 1e7,  # far from the origin
    ):
        assert_same(threshold_pairs(rows, threshold=threshold), all_pairs_threshold(rows, threshold))


def test_pairs_on_the_border_are_judged_as_float64_judges_them(search: str) -> None:
    # With t = 1/2 the reach is 2 d_min + 1: here many a distance is the reach itself, up to rounding.
    rows = np.array([[0.1 * k] for k in range(60)] + [[100 + 0.3 * k] for k in range(60)])
    for threshold in (0.5, 1.1 / 1.5, 1.1 / 1.2, np.nextafter(1.1 / 1.2, 0), np.nextafter(1.1 / 1.2, 1)):
        assert_same(threshold_pairs(rows, threshold=threshold), all_pairs_threshold(rows, threshold))


def test_distances_that_differ_by_rounding_only_are_told_apart_as_float64_tells_them(search: str) -> None:
    # Orders of the same eight numbers: equally far from the origin, up to the order in which the squares are summed.
    rng = np.random.default_rng(3)
    rows = np.vstack([np.zeros(8), *(rng.permutation(np.arange(1, 9) / 10) for _ in range(120))])
    apart = np.unique(cdist(rows[:1], rows[1:]))
    assert 1 < len(apart) < 10
    for neighbours in (3, 30, 90):
        assert_same(nearest_neighbour_pairs(rows, neighbours=neighbours), all_pairs_nearest(rows, neighbours))
    for threshold in (np.nextafter(1, 0), (1 + apart[0]) / (1 + apart[-1])):
        assert_same(threshold_pairs(rows, threshold=threshold), all_pairs_threshold(rows, threshold))


def test_duplicates_are_linked_to_each_other_and_never_to_themselves() -> None:
    source, target = threshold_pairs([[0, 0], [5, 5], [0, 0], [0, 0]], threshold=0.9)
    # Row 1 is equally far from all the others.
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == [
        (0, 2), (0, 3), (1, 0), (1, 2), (1, 3), (2, 0), (2, 3), (3, 0), (3, 2),
    ]  # fmt: skip


def test_two_rows_are_linked_however_far_apart() -> None:
    source, target = threshold_pairs([[0.0], [1e149]], threshold=0.99)
    assert (source.tolist(), target.tolist()) == ([0, 1], [1, 0])


@pytest.mark.parametrize("rows", [np.empty((0, 2)), [[1.0, 2.0]]])
def test_no_row_or_one_row_has_no_pairs(rows: npt.ArrayLike) -> None:
    nothing = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert_same(threshold_pairs(rows, threshold=0.5), nothing)
    assert_same(nearest_neighbour_pairs(rows, neighbours=3), nothing)


def test_nothing_exceeds_the_best_itself() -> None:
    source, _ = threshold_pairs([[0.0], [0.0], [1.0]], threshold=1.0)
    assert len(source) == 0


@settings(max_examples=100, deadline=None)
@given(rows=tables, threshold=thresholds, data=st.data())
def test_permuting_the_rows_permutes_the_links(
    rows: npt.NDArray[np.float64], threshold: float, data: st.DataObject
) -> None:
    order = np.array(data.draw(st.permutations(range(len(rows)))), dtype=np.int64)
    source, target = threshold_pairs(rows[order], threshold=threshold)
    renamed = sorted(zip(order[source].tolist(), order[target].tolist(), strict=True))
    expected = threshold_pairs(rows, threshold=threshold)
    assert renamed == list(zip(expected[0].tolist(), expected[1].tolist(), strict=True))


def test_minus_zero_is_zero() -> None:
    rows = np.array([[0.0], [-0.0], [0.25]])
    assert_same(threshold_pairs(rows, threshold=0.9), all_pairs_threshold(rows, 0.9))


def test_the_clock_does_not_change_the_links() -> None:
    rows = np.random.default_rng(0).normal(size=(1500, 5)).round(1)  # enough rows for the two searches to race
    assert_same(threshold_pairs(rows, threshold=0.8), all_pairs_threshold(rows, 0.8))
    assert_same(nearest_neighbour_pairs(rows, neighbours=4), all_pairs_nearest(rows, 4))


# --- nearest neighbours -----------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(rows=tables, neighbours=st.integers(1, 12))
def test_neighbours_are_the_nearest_of_all_rows(rows: npt.NDArray[np.float64], neighbours: int) -> None:
    assert_same(nearest_neighbour_pairs(rows, neighbours=neighbours), all_pairs_nearest(rows, neighbours))


@pytest.mark.parametrize("channels", [1, 3, 30])
@pytest.mark.parametrize("neighbours", [1, 7, 200])
def test_both_searches_find_the_nearest_of_all_rows(search: str, channels: int, neighbours: int) -> None:
    rng = np.random.default_rng(channels)
    for rows in (
        rng.normal(size=(150, channels)),
        rng.integers(0, 3, size=(150, channels)).astype(float),
        rng.normal(size=(150, channels)) * 10.0 ** rng.integers(-4, 5, size=(150, 1)),
        rng.normal(size=(150, channels)) * 1e-160,  # squares vanish: all distances are nearly 0, or 0
    ):
        assert_same(nearest_neighbour_pairs(rows, neighbours=neighbours), all_pairs_nearest(rows, neighbours))


def test_hundreds_of_duplicates_are_never_their_own_neighbours() -> None:
    rows = np.concatenate([np.zeros((300, 2)), np.ones((2, 2)), np.zeros((300, 2))])
    source, target = nearest_neighbour_pairs(rows, neighbours=5)
    assert (np.bincount(source) == 5).all()
    assert (source != target).all()
    assert_same((source, target), all_pairs_nearest(rows, 5))


# --- rules, limits, errors --------------------------------------------------------------------------------------------


def test_rules_give_the_pairs_of_their_algorithm() -> None:
    rows = np.random.default_rng(1).normal(size=(30, 2))
    assert_same(SimilarityThreshold(threshold=0.7).pairs(rows), threshold_pairs(rows, threshold=0.7))
    assert_same(NearestNeighbours(neighbours=3).pairs(rows), nearest_neighbour_pairs(rows, neighbours=3))


def test_rules_survive_json_and_are_told_apart_by_kind() -> None:
    rule = pydantic.TypeAdapter(SimilarityRule)
    for made in (SimilarityThreshold(threshold=0.6), NearestNeighbours(neighbours=3)):
        assert rule.validate_json(rule.dump_json(made)) == made


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "threshold", "threshold": 0}',
        '{"kind": "threshold", "threshold": 1.5}',
        '{"kind": "threshold", "threshold": "0.5"}',
        '{"kind": "threshold"}',
        '{"kind": "threshold", "threshold": 0.5, "neighbours": 3}',
        '{"kind": "neighbours", "neighbours": 0}',
        '{"kind": "neighbours", "neighbours": true}',
        '{"kind": "cosine"}',
        '{"threshold": 0.5}',
    ],
)
def test_malformed_rules_are_refused(text: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        pydantic.TypeAdapter(SimilarityRule).validate_json(text)


def test_rules_are_frozen() -> None:
    with pytest.raises(pydantic.ValidationError):
        NearestNeighbours().neighbours = 3  # type: ignore[misc]


def test_rows_are_not_modified() -> None:
    rows = np.array([[-0.0, 2.0], [1.0, 2.0], [-0.0, 2.0], [3.0, 1.0]])
    rows.flags.writeable = False
    before = rows.tobytes()
    threshold_pairs(rows, threshold=0.5)
    nearest_neighbour_pairs(rows, neighbours=2)
    assert rows.tobytes() == before


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint16, np.float32])
def test_whole_numbers_and_single_precision_are_rows_too(kind: type[np.generic]) -> None:
    rows = np.random.default_rng(2).integers(0, 2, size=(12, 3)).astype(kind)
    assert_same(threshold_pairs(rows, threshold=0.7), all_pairs_threshold(rows.astype(np.float64), 0.7))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([1.0, 2.0], "similarity: rows of shape (2,); expected (rows, channels), at least one channel."),
        (np.empty((3, 0)), "similarity: rows of shape (3, 0); expected (rows, channels), at least one channel."),
        ([["a"], ["b"]], "similarity: the rows must be numbers, got <U1. Encode other channels first."),
        ([[1j], [2j]], "similarity: the rows must be numbers, got complex128. Encode other channels first."),
        ([[1.0], [1.0, 2.0]], "similarity: the rows differ in length; every row needs the same channels."),
        (
            [[1.0], [np.nan], [np.inf]],
            "similarity: 2 of 3 rows have NaN or infinite values (rows 1, 2). Fill or drop them.",
        ),
        (
            [[0.0, -1e200], [1.0, 1e200]],
            "similarity: channel 1 runs from -1e+200 to 1e+200; distances above 1e+150 overflow. "
            "Scale the channels first.",
        ),
        (
            [[-1.7e308], [1.7e308]],
            "similarity: channel 0 runs from -1.7e+308 to 1.7e+308; distances above 1e+150 overflow. "
            "Scale the channels first.",
        ),
    ],
)
def test_rows_that_are_no_table_of_numbers_are_refused(rows: npt.ArrayLike, message: str) -> None:
    for call in (lambda: threshold_pairs(rows, threshold=0.5), lambda: nearest_neighbour_pairs(rows, neighbours=1)):
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            call()


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01, float("nan"), True, "0.5", None])
def test_thresholds_out_of_range_are_refused(threshold: float) -> None:
    message = f"similarity: threshold {threshold!r}; expected a number above 0 and at most 1, such as 0.8."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        threshold_pairs([[0.0], [1.0]], threshold=threshold)


@pytest.mark.parametrize("neighbours", [0, -1, 1.5, True, "3", None])
def test_neighbours_that_are_no_count_are_refused(neighbours: int) -> None:
    message = f"similarity: neighbours {neighbours!r}; expected a whole number of at least 1, such as 10."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        nearest_neighbour_pairs([[0.0], [1.0]], neighbours=neighbours)


def test_a_graph_of_nearly_all_pairs_is_refused_before_it_fills_the_memory() -> None:
    message = (
        "similarity: threshold 0.7 links more than 25,000,000 pairs of 30,000 rows. "
        "Raise the threshold, scale the channels, or link nearest neighbours."
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        threshold_pairs(np.zeros((30_000, 3)), threshold=0.7)
    message = (
        "similarity: 29,999 neighbours of 30,000 rows are 899,970,000 pairs; at most 25,000,000 are allowed. "
        "Ask for fewer neighbours."
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        nearest_neighbour_pairs(np.zeros((30_000, 3)), neighbours=10**12)


def test_the_limit_counts_pairs_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[0.0], [0.0], [0.0], [9.0], [9.0]]  # 3 * 2 + 2 * 1 pairs
    monkeypatch.setattr(similarity, "pair_limit", lambda _: 8)
    assert len(threshold_pairs(rows, threshold=0.9)[0]) == 8
    monkeypatch.setattr(similarity, "pair_limit", lambda _: 7)
    with pytest.raises(InputError, match="links more than 7 pairs of 5 rows"):
        threshold_pairs(rows, threshold=0.9)


# --- the circulated graphs --------------------------------------------------------------------------------------------


def circulated(name: str) -> Path:
    folder = os.environ.get("FAIRVIEW_DATA")
    if not folder:
        pytest.skip("set FAIRVIEW_DATA to the folder with german.zip, bail.zip and credit.csv")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"no {name} in FAIRVIEW_DATA")
    return path


def from_archive(name: str) -> tuple[pl.DataFrame, Pairs]:
    with zipfile.ZipFile(circulated(f"{name}.zip")) as archive:
        table = pl.read_csv(archive.read(f"{name}/{name}.csv"))
        edges = np.loadtxt(archive.read(f"{name}/{name}_edges.txt").decode().splitlines()).astype(np.int64)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    return table, (edges[order, 0], edges[order, 1])


def test_german_is_rebuilt_pair_by_pair() -> None:
    table, published = from_archive("german")
    table = table.drop("GoodCustomer", "OtherLoansAtStore", "PurposeOfLoan")
    spread = pl.col("LoanAmount", "Age", "LoanDuration")
    table = table.with_columns(
        pl.col("Gender") == "Female", (spread - spread.min()) * 2 / (spread.max() - spread.min()) - 1
    )
    source, target = threshold_pairs(table.cast(pl.Float64).to_numpy(), threshold=0.8)
    assert len(source) == 24_970
    assert_same((source, target), published)


def test_bail_is_rebuilt_pair_by_pair() -> None:
    table, published = from_archive("bail")
    source, target = threshold_pairs(table.drop("RECID").cast(pl.Float64).to_numpy(), threshold=0.6)
    assert len(source) == 403_977
    assert_same((source, target), published)


def test_small_credit_has_the_known_number_of_pairs() -> None:
    table = pl.read_csv(circulated("credit.csv")).drop("NoDefaultNextMonth", "Single")
    rows = table.cast(pl.Float64).to_numpy()
    source, target = threshold_pairs(rows, threshold=0.7)
    assert len(source) == 200_526
    for block in (slice(0, 200), slice(29_800, 30_000)):  # comparing all pairs takes half a minute; a few rows will do
        alike = 1 / (1 + cdist(rows[block], rows))
        own = np.arange(block.start, block.stop)
        alike[np.arange(len(own)), own] = -1
        first, second = np.nonzero(alike > 0.7 * alike.max(axis=1, keepdims=True))
        within = (source >= block.start) & (source < block.stop)
        assert_same((source[within], target[within]), (first + block.start, second))
