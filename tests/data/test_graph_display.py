from __future__ import annotations

import numpy as np
import polars as pl

import fairview as fv


def small(**other) -> fv.NodeGraph:
    return fv.NodeGraph.from_arrays(
        features=[[0.5, 1], [1, 2], [2, 3]],
        edges=[[0, 1], [1, 2]],
        labels=[0, 1, -1],
        sensitive=["f", "m", None],
        splits={"train": [True, False, False], "test": [False, True, False]},
        **other,
    )


def test_a_graph_is_a_frame_with_a_row_per_node():
    frame = small(classes=("bad", "good"), node_ids=["a", "b", "c"]).to_frame()
    assert frame.schema == {
        "id": pl.String, "label": pl.String, "sensitive": pl.String, "split": pl.String,
        "x0": pl.Float32, "x1": pl.Float32,
    }  # fmt: skip
    assert frame.rows() == [
        ("a", "bad", "f", "train", 0.5, 1.0),
        ("b", "good", "m", "test", 1.0, 2.0),
        ("c", None, None, None, 2.0, 3.0),
    ]


def test_channels_called_like_a_column_are_told_apart():
    assert small(channels=["label", "label_channel"]).to_frame().columns[4:] == [
        "label_channel_channel",
        "label_channel",
    ]


def test_an_empty_graph_is_an_empty_frame():
    empty = fv.NodeGraph.from_arrays(features=np.empty((0, 1)), edges=np.empty((2, 0)))
    assert empty.to_frame().schema["label"] == pl.String
    assert empty.to_frame().height == 0
    assert "<strong>NodeGraph: arrays</strong>" in empty._repr_html_()


def test_the_frame_is_read_back_as_the_same_graph(graph):
    frame = graph.to_frame()
    links = pl.DataFrame({"source": [graph.ids[i] for i in graph.adjacency.sources],
                          "target": [graph.ids[i] for i in graph.adjacency.indices]})  # fmt: skip
    again = fv.read_graph(frame, links, label="label", sensitive="sensitive", split="split", scaling="none")
    assert again.to_frame().equals(frame.sort("id").select(again.to_frame().columns))


def test_the_html_says_what_a_person_checks_first():
    html = fv.load_dataset("german")._repr_html_()
    for text in (
        "<strong>NodeGraph: german</strong>", ">21,742</dd>", "good (positive) 700, bad 300", ">0.805</dd>",
        "and 19 more", ">Female</th>", ">310</td>", ">train</th>", "links rebuilt by the threshold rule",
    ):  # fmt: skip
        assert text in html, text
    assert len(html) < 10_000


def test_names_from_the_data_are_escaped():
    name = "<script>x</script>"
    provenance = fv.Provenance(source=name, notes=(name,))
    html = small(channels=[name, "b"], sensitive_name=name, classes=(name, "c"), provenance=provenance)._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5
    assert "unlabelled 1" in html
    assert "(unknown: 1)" in html
