"""Do the shares of several processes make up what one would load?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import fairview as fv
from fairview.data.splits import with_default_split
from fairview.propagation.engines import memory
from fairview.propagation.shards import training_shard


@pytest.fixture(scope="module", params=["with a split", "without", "several attributes"])
def whole(request, tmp_path_factory) -> fv.Propagated:
    """1,300 nodes in parts of 300 rows, some without a label or a group."""
    home: Path = tmp_path_factory.mktemp("folder")
    graph = fv.synthetic_graph(1_300, groups={"f": 0.4, "m": 0.6}, average_degree=4, seed=3)
    people = graph.to_frame().drop("split").with_row_index("row")
    unknown = pl.col("row") % 13 == 5
    people = people.with_columns(
        pl.when(unknown).then(None).otherwise(pl.col("label")).alias("label"),
        pl.when(pl.col("row") % 17 == 3).then(None).otherwise(pl.col("sensitive")).alias("sensitive"),
    )
    links = pl.DataFrame({"source": graph.adjacency.sources, "target": graph.adjacency.indices})
    reading = {"label": "label", "sensitive": "sensitive", "features": list(graph.channels)}
    reading |= {"split_seed": 1} if request.param == "with a split" else {}
    if request.param == "several attributes":
        people = people.with_columns(old=pl.when(pl.col("row") % 7 > 0).then(pl.col("row") % 3))
        reading |= {"sensitive": ["sensitive", "old"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BATCH", 300)
        return fv.propagate(people.drop("row"), links, folder=home / "p", hops=2, engine="memory", **reading)


def test_some_rows_of_a_folder_are_read_without_the_others(whole):
    everything = pl.concat(whole.frames())
    assert len(whole.facts.parts) == 5
    for first, last in ((0, 1300), (0, 0), (5, 6), (299, 301), (310, 1250), (1299, 1300)):
        pieces = list(whole.frames(rows=170, between=(first, last)))
        assert sum(piece.height for piece in pieces) == last - first
        if pieces:
            assert_frame_equal(pl.concat(pieces), everything[first:last])
    chosen = np.array([3, 298, 299, 300, 700, 1250])
    assert_frame_equal(pl.concat(whole.frames_of(chosen, rows=170)), everything[chosen])


@pytest.mark.parametrize("rows", [None, 1_000])
@pytest.mark.parametrize("processes", [2, 3, 7])
def test_the_shares_of_all_processes_are_what_one_would_load(whole, rows, processes):
    sample = whole.sample(rows=rows)
    shares = [training_shard(whole, rank=rank, processes=processes, rows=rows) for rank in range(processes)]
    assert np.array_equal(np.concatenate([share.features for share in shares]), sample.features)
    for hop in range(3):
        own = np.concatenate([share.adjacency.by_hop[hop] for share in shares])
        assert np.array_equal(own, sample.adjacency.by_hop[hop])
    for share in shares:
        assert share.num_nodes == sample.num_nodes
        assert np.array_equal(share.labels, sample.labels)
        assert np.array_equal(share.sensitive, sample.sensitive)
        for one, other in zip(share.attributes, sample.attributes, strict=True):
            assert one.name == other.name
            assert np.array_equal(one.codes, other.codes)
        assert list(share.splits) == list(sample.splits)
        assert all(np.array_equal(share.splits[name], sample.splits[name]) for name in sample.splits)
        assert share.provenance == sample.provenance


@pytest.mark.parametrize("rows", [None, 1_000])
def test_a_share_knows_the_sha256_of_all(whole, rows):
    sample, _ = with_default_split(whole.sample(rows=rows))
    share, _ = with_default_split(training_shard(whole, rank=1, processes=3, rows=rows))
    assert share.sha256 == sample.sha256


def test_a_share_has_no_ids(whole):
    with pytest.raises(fv.InputError) as caught:
        _ = training_shard(whole, rank=0, processes=2).ids
    assert str(caught.value) == "ids: they are in the propagated folder; a process of several holds none."


def test_more_processes_than_nodes_leave_some_without_any(whole):
    share = training_shard(whole, rank=0, processes=5_000)
    assert share.features.shape == (0, len(whole.channels))
    assert share.num_nodes == 1_300
