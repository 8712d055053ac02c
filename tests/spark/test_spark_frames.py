"""DataFrames in, DataFrames out: `fairview.spark.propagate` and `fairview.spark.predict`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import fairview as fv


@pytest.fixture(scope="module")
def graph():
    made = fv.load_dataset("german")
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="module")
def tables(spark, graph, tmp_path_factory):
    """German in Spark, as two DataFrames with columns as they were scaled."""
    folder = tmp_path_factory.mktemp("german")
    features = {channel: graph.features[:, place] for place, channel in enumerate(graph.channels)}
    pl.DataFrame({"id": list(graph.ids), "y": graph.labels, "s": graph.sensitive, **features}).write_parquet(
        folder / "nodes.parquet"
    )
    links, ids = graph.adjacency, np.array(graph.ids)
    pl.DataFrame({"source": ids[links.sources], "target": ids[links.indices]}).write_parquet(folder / "edges.parquet")
    return tuple(spark.read.parquet(str(folder / f"{name}.parquet")) for name in ("nodes", "edges"))


@pytest.fixture(scope="module")
def read(tables, graph):
    """The same tables, read in memory."""
    nodes, edges = (pl.DataFrame(pl.from_arrow(frame.toArrow())) for frame in tables)
    made = fv.read_graph(nodes, edges, label="y", sensitive="s", scaling="none")
    return made.with_splits(graph.splits)


@pytest.fixture(scope="module")
def rows(tables, tmp_path_factory):
    return fv.spark.propagate(
        *tables, label="y", sensitive="s", scaling="none", hops=1, checkpoints=str(tmp_path_factory.mktemp("kept"))
    )


def test_the_rows_are_named_by_channel_and_hop(rows, read):
    named = [f"{channel}@{hop}" for hop in (0, 1) for channel in read.channels]
    assert rows.columns == ["id", "label", "sensitive", "split", *named]
    assert rows.count() == read.num_nodes
    assert dict(rows.groupBy("sensitive").count().collect()) == {"0": 690, "1": 310}
    assert dict(rows.groupBy("label").count().collect()) == {0: 300, 1: 700}


@pytest.mark.parametrize(
    "model",
    [fv.FairVGNN(encoder="gcn", epochs=3), fv.FairVGNN(encoder="sign", depth=1, epochs=3), fv.GroupThresholds()],
)
def test_scores_are_those_of_the_graph(rows, read, model, tmp_path):
    model.fit(read).with_threshold(0.6).save(tmp_path)
    given = tmp_path if isinstance(model, fv.FairVGNN) else model.with_threshold(0.6)
    scores = pl.DataFrame(pl.from_arrow(fv.spark.predict(given, rows.repartition(7)).toArrow()))
    assert scores.columns == ["id", "score", "prediction"]
    expected = dict(zip(read.ids, model.predict_proba(read)[:, 1], strict=True))
    np.testing.assert_allclose(scores["score"], [expected[name] for name in scores["id"]], atol=1e-6)
    assert (scores["prediction"] == (scores["score"] > 0.6)).all()


def test_a_model_that_needs_the_links_is_refused_before_spark_runs(rows, read):
    model = fv.Vanilla(encoder="sage", epochs=1).fit(read)
    with pytest.raises(fv.InputError, match=r"^propagated folder: it holds .*no links"):
        fv.spark.predict(model, rows)


def test_another_operator_than_the_models_is_refused(rows, read):
    model = fv.Vanilla(encoder="gin", epochs=1).fit(read)
    with pytest.raises(fv.InputError, match="it was made with the operator 'gcn'"):
        fv.spark.predict(model, rows)


def test_sign_is_refused_rows_of_fewer_hops(rows, read):
    model = fv.Vanilla(encoder="sign", epochs=1).fit(read)
    with pytest.raises(fv.InputError, match="it holds 1 hops, and one more is needed"):
        fv.spark.predict(model, rows)


def test_rows_that_do_not_say_their_operator_need_one(rows, read):
    model = fv.LogisticRegression().fit(read)
    plain = rows.withMetadata("id", {})
    with pytest.raises(fv.InputError, match=r"^frame: it does not say which operator .* operator='gcn'\.$"):
        fv.spark.predict(model, plain)
    assert fv.spark.predict(model, plain, operator="gcn").columns == ["id", "score", "prediction"]


def test_columns_that_the_model_needs_must_be_there(rows, read):
    model = fv.LogisticRegression().fit(read)
    with pytest.raises(fv.InputError, match=r"^frame: no column 'LoanAmount@0'\. Make the rows with fairview\.spark"):
        fv.spark.predict(model, rows.drop("LoanAmount@0"))


def test_rows_that_were_read_in_another_way_are_refused(rows, read, graph):
    other = fv.read_graph(
        pl.DataFrame({"id": list(read.ids), **{c: read.features[:, k] for k, c in enumerate(read.channels)}}
                     | {"y": read.labels, "s": read.sensitive}),
        pl.DataFrame({"source": [read.ids[0]], "target": [read.ids[1]]}),
        label="y", sensitive="s", scaling="minmax",
    ).with_splits(graph.splits)  # fmt: skip
    with pytest.raises(fv.InputError, match="was not read as the model's was"):
        fv.spark.predict(fv.LogisticRegression().fit(other), rows)


@pytest.mark.slow
def test_a_finished_hop_is_not_computed_again(tables, tmp_path):
    settings = {"label": "y", "sensitive": "s", "operator": "mean", "checkpoints": str(tmp_path)}
    fv.spark.propagate(*tables, **settings, hops=1)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert {path.parts[len(tmp_path.parts) + 1] for path in written} == {"nodes", "links", "hop-0", "hop-1"}
    (unfinished,) = tmp_path.glob("*/hop-1/_SUCCESS")
    unfinished.unlink()
    again = fv.spark.propagate(*tables, **settings, hops=1)
    now = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert {path for path in written if now.get(path) != written[path]} == {p for p in written if "hop-1" in p.parts}
    assert again.count() == 1000


@pytest.mark.slow
def test_a_folder_is_written_beside_the_rows(tables, tmp_path):
    rows = fv.spark.propagate(*tables, label="y", sensitive="s", hops=1, folder=tmp_path / "out")
    opened = fv.open_propagated(tmp_path / "out")
    opened.check()
    assert opened.facts.engine == "spark"
    assert rows.columns == next(opened.frames()).columns
    assert not (tmp_path / "out" / ".work").exists()
    with pytest.raises(fv.InputError, match=r"out: holds a propagation already\. Use another folder\.$"):
        fv.spark.propagate(*tables, label="y", sensitive="s", hops=1, folder=tmp_path / "out")


def test_a_parameter_that_is_none_is_refused(tables):
    with pytest.raises(fv.InputError, match=r"^propagate: no parameter 'sensitve'\. Did you mean 'sensitive'\?"):
        fv.spark.propagate(*tables, label="y", sensitve="s")


def test_what_is_no_dataframe_is_refused(tables):
    with pytest.raises(fv.InputError, match=r"^edges: expected a Spark DataFrame, got list\.$"):
        fv.spark.propagate(tables[0], [], label="y")


def test_rows_with_several_attributes_have_a_column_for_each_and_serve_a_model_that_needs_them(
    spark, tmp_path, crossed
):
    made = crossed(300)
    people = {"id": [f"p{name}" for name in made.ids], "ok": made.labels}
    people |= {each.name: np.array(each.groups)[each.codes] for each in made.attributes}
    people |= {name: made.features[:, place].astype(float) for place, name in enumerate(made.channels)}
    ends = [f"p{k}" for k in made.adjacency.sources], [f"p{k}" for k in made.adjacency.indices]
    pl.DataFrame(people).write_parquet(tmp_path / "people.parquet")
    pl.DataFrame({"source": ends[0], "target": ends[1]}).write_parquet(tmp_path / "links.parquet")
    files = [tmp_path / "people.parquet", tmp_path / "links.parquet"]
    reading = {"label": "ok", "sensitive": ["race", "sex"], "scaling": "none"}
    graph = fv.read_graph(*files, split_seed=1, **reading)
    frames = [spark.read.parquet(str(file)) for file in files]
    rows = fv.spark.propagate(*frames, hops=1, split_seed=1, checkpoints=str(tmp_path / "kept"), **reading)
    assert rows.columns[:5] == ["id", "label", "sensitive:race", "sensitive:sex", "split"]
    told = graph.to_frame().select("id", "sensitive:race", "sensitive:sex", "split").sort("id")
    assert (
        pl.DataFrame(pl.from_arrow(rows.select(*[f"`{name}`" for name in told.columns]).toArrow()))
        .sort("id")
        .equals(told)
    )
    model = fv.GroupThresholds().fit(graph)
    scores = pl.DataFrame(pl.from_arrow(fv.spark.predict(model, rows).toArrow())).sort("id")
    expected = dict(zip(graph.ids, model.predict_proba(graph)[:, 1], strict=True))
    np.testing.assert_allclose(scores["score"], [expected[name] for name in scores["id"]], atol=1e-6)
    with pytest.raises(fv.InputError, match=r"^frame: no column 'sensitive:sex'\. Make the rows with"):
        fv.spark.predict(model, rows.drop("sensitive:sex"))
