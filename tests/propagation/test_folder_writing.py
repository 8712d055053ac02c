from __future__ import annotations

import polars as pl

import fairview as fv


def test_nodes_without_split_group_or_label_come_first(tmp_path):
    """The first rows decide on the type of a column if nothing else does."""
    people = {
        "id": ["a", "b", "c", "d"],
        "age": [1, 2, 3, 4],
        "sex": ["", "", "f", "m"],
        "ok": ["", "0", "1", ""],
        "part": ["", "", "train", "test"],
    }
    links = {"source": ["a"], "target": ["b"]}
    folder = fv.propagate(
        pl.DataFrame(people), links, folder=tmp_path, label="ok", sensitive="sex", split="part", hops=0
    )
    frame = next(folder.frames(["label", "sensitive", "split"]))
    assert frame.rows() == [(None, None, None), (0, None, None), (1, "f", "train"), (None, "m", "test")]
    assert frame.schema == {"label": pl.Int8, "sensitive": pl.String, "split": pl.String}
    assert fv.verify(tmp_path).ok
