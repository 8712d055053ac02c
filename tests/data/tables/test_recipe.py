from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.data.tables.recipe import Recipe

PEOPLE = "id,age,job,sex,ok\n1,20,a,f,0\n2,30,b,m,1\n3,40,a,f,1\n4,50,b,m,0\n"
HOLES = "id,age,job,sex,ok\n1,20,a,f,0\n2,,b,m,1\n3,40,,f,1\n4,60,b,m,0\n"


@pytest.fixture
def recipe(read) -> Recipe:
    return read(PEOPLE, categorical=["job"]).recipe


# --- what happens to empty cells --------------------------------------------------------------------------------------


def test_mean_fills_numbers_with_their_mean_and_categories_with_their_shares(read):
    graph = read(HOLES, categorical=["job"], missing="mean", scaling="none")
    assert graph.channels == ("age", "job=a", "job=b")
    assert graph.features.tolist() == [
        [20, 1, 0],
        [40, 0, 1],
        [40, np.float32(1 / 3), np.float32(2 / 3)],
        [60, 0, 1],
    ]


def test_indicator_also_says_where(read):
    graph = read(HOLES, categorical=["job"], missing="indicator", scaling="none")
    assert graph.channels == ("age", "job=a", "job=b", "age_missing", "job_missing")
    assert graph.features[:, 3:].tolist() == [[0, 0], [1, 0], [0, 1], [0, 0]]


def test_indicators_are_not_scaled(read):
    graph = read(HOLES, categorical=["job"], missing="indicator", scaling="standard")
    assert set(graph.features[:, 3].tolist()) == {0.0, 1.0}


def test_only_columns_with_gaps_get_an_indicator(read):
    assert read(PEOPLE, categorical=["job"], missing="indicator").channels == ("age", "job=a", "job=b")


def test_drop_takes_the_nodes_with_their_edges(read):
    graph = read(HOLES, categorical=["job"], missing="drop", scaling="none")
    assert graph.ids == ("1", "4")
    assert graph.features.tolist() == [[20, 1, 0], [60, 0, 1]]
    assert graph.num_edges == 0
    assert graph.provenance.notes == (
        "2 of 4 nodes dropped: empty cells in their features",
        "3 edges dropped with the nodes at their ends",
    )


def test_means_are_taken_over_the_train_nodes_if_the_scaling_is(read):
    people = "id,age,sex,ok,part\n1,10,f,0,train\n2,20,m,1,train\n3,,f,1,val\n4,99,m,0,test\n"
    assert read(people, split="part", missing="mean", scaling="none", scale_on="train").features[2, 0] == 15
    assert read(people, split="part", missing="mean", scaling="none").features[2, 0] == 43


def test_a_mean_of_nothing_is_refused(refusal):
    people = "id,age,sex,ok,part\n1,,f,0,train\n2,,m,1,train\n3,30,f,1,val\n4,99,m,0,test\n"
    assert refusal(people, split="part", missing="mean", scale_on="train") == (
        "nodes.csv: column 'age': empty for all nodes that the mean is taken over. Drop the column, or fit on all "
        "nodes (scale_on='all')."
    )


@pytest.mark.parametrize("missing", ["error", "mean", "indicator", "drop"])
def test_a_column_without_any_value_is_refused(refusal, missing):
    people = "id,age,job,sex,ok\n1,,a,f,0\n2,,b,m,1\n"
    assert refusal(people, None, missing=missing, drop=["job"]) == (
        "nodes.csv: column 'age': all 2 rows are empty. Drop the column (drop=['age'])."
    )
    assert refusal(people, None, missing=missing, drop=["job"], categorical=["age"]) == (
        "nodes.csv: column 'age': every cell is empty: there is nothing to one-hot encode. Drop the column."
    )


def test_no_node_without_an_empty_cell(refusal):
    assert refusal("id,age,size,sex,ok\n1,,1,f,0\n2,3,,m,1\n", None, missing="drop") == (
        "nodes.csv: every node has an empty cell, and such nodes are dropped: none is left. Fill some, or pass "
        "missing='mean'."
    )


# --- names of channels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("people", "options", "message"),
    [
        (
            "id,job,job=a,sex,ok\n1,a,1,f,0\n2,b,2,m,1\n",
            {"categorical": ["job"]},
            "nodes.csv: two columns would become the channel 'job=a'; rename one.",
        ),
        (
            "id,a,a=b,sex,ok\n1,b=c,c,f,0\n2,d,e,m,1\n",
            {"categorical": ["a", "a=b"]},
            "nodes.csv: two columns would become the channel 'a=b=c'; rename one.",
        ),
        (
            "id,x,x_missing,sex,ok\n1,,1,f,0\n2,3,2,m,1\n",
            {"missing": "indicator"},
            "nodes.csv: column 'x': its indicator would be a second channel 'x_missing'; rename one.",
        ),
    ],
)
def test_two_channels_of_one_name_are_refused(refusal, people, options, message):
    assert refusal(people, None, **options) == message


def test_too_many_categories(refusal):
    people = "id,job,sex,ok\n" + "".join(f"{k},j{k},{'fm'[k % 2]},{k % 2}\n" for k in range(1001))
    assert refusal(people, None, categorical=["job"]) == (
        "nodes.csv: column 'job': 1,001 different values, too many to one-hot encode (at most 1,000). Drop the "
        "column, or merge values."
    )


# --- the sensitive column as a feature --------------------------------------------------------------------------------


def test_two_texts_become_one_channel_and_more_become_one_each(read):
    two = read(PEOPLE, drop=["job"], sensitive_as_feature=True, scaling="none")
    assert (two.channels, two.sensitive_channels) == (("age", "sex"), ("sex",))
    assert two.features[:, 1].tolist() == [0, 1, 0, 1]
    three = read(PEOPLE.replace("50,b,m", "50,b,d"), drop=["job"], sensitive_as_feature=True, scaling="none")
    assert three.sensitive_channels == ("sex=d", "sex=f", "sex=m")


def test_numbers_stay_numbers(read):
    people = "id,age,race,ok\n1,2,1,0\n2,3,5,1\n3,4,3,1\n"
    graph = read(people, None, sensitive="race", sensitive_as_feature=True, scaling="none")
    assert graph.features.tolist() == [[2, 1], [3, 5], [4, 3]]


def test_the_indicator_of_the_sensitive_column_is_sensitive_too(read):
    graph = read(PEOPLE.replace("b,m,1", "b,,1"), None, drop=["job"], sensitive_as_feature=True, missing="indicator")
    assert graph.sensitive_channels == ("sex", "sex_missing")
    assert graph.recipe.similarity_channels == ("age",)


def test_the_sensitive_column_takes_no_part_in_the_similarity_unless_asked(read, refusal):
    options = {"drop": ["job"], "sensitive_as_feature": True}
    assert read(PEOPLE, None, **options).recipe.similarity_channels == ("age",)
    both = read(PEOPLE, None, similarity_with_sensitive=True, **options)
    assert both.recipe.similarity_channels == ("age", "sex")
    assert "no channel is left to link similar nodes by" in refusal(
        PEOPLE, None, drop=["job", "age"], sensitive_as_feature=True
    )


# --- the same again, on new data --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"missing": "mean"}, {"missing": "indicator"}, {"missing": "drop"}])
@pytest.mark.parametrize("edges", ["source,target\n1,2\n2,3\n3,4\n", None])
def test_a_recipe_read_from_json_makes_the_same_graph_again(read, options, edges):
    people = HOLES if options else PEOPLE
    graph = read(people, edges, categorical=["job"], scaling="minmax", **options)
    again = read(people, edges, recipe=Recipe.model_validate_json(graph.recipe.model_dump_json()))
    assert again.sha256 == graph.sha256
    assert again.recipe == graph.recipe


def test_new_data_is_scaled_and_filled_as_the_old_was(read):
    recipe = read(PEOPLE, drop=["job"], scaling="minmax", missing="mean").recipe
    new = read("id,age,sex,ok\n7,65,f,0\n8,,m,1\n", "source,target\n7,8\n", recipe=recipe)
    assert new.features.tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize("missing", ["mean", "indicator"])
def test_a_single_new_node_with_an_empty_cell_is_filled_as_the_recipe_says(missing):
    people = pl.DataFrame({"id": [1, 2, 3], "age": [20, None, 40], "sex": ["f", "m", "f"], "ok": [0, 1, 1]})
    links = pl.DataFrame({"source": [1], "target": [2]})
    recipe = fv.read_graph(people, links, label="ok", sensitive="sex", scaling="none", missing=missing).recipe
    alone = fv.read_graph(people[1:2], links[:0], recipe=recipe)
    assert alone.features[0, 0] == 30
    assert "1 empty cells of 1 nodes filled with the mean" in alone.provenance.notes


def test_an_empty_cell_that_the_recipe_does_not_know_is_refused_without_an_option_that_predict_lacks():
    people = pl.DataFrame({"id": [1, 2, 3], "age": [20, 30, 40], "sex": ["f", "m", "f"], "ok": [0, 1, 1]})
    links = pl.DataFrame({"source": [1], "target": [2]})
    recipe = fv.read_graph(people, links, label="ok", sensitive="sex").recipe
    with pytest.raises(fv.InputError) as caught:
        fv.read_graph(people.with_columns(age=pl.Series([20, None, 40])), links, recipe=recipe)
    assert str(caught.value) == ("nodes: column 'age': 1 of 3 rows are empty (id 2). Fill them, or drop them.")


def test_label_and_sensitive_column_may_be_lacking(read, recipe):
    new = read("id,age,job\n7,65,a\n", "source,target\n", recipe=recipe)
    assert (new.labels.tolist(), new.sensitive.tolist()) == ([-1], [-1])
    assert (new.classes, new.groups) == (("0", "1"), ("f", "m"))


AGAIN = " Correct them, or train again with such rows."
NO_LABEL = " Correct them, or empty these cells: the label is then unknown."
NO_GROUP = " Correct them, or empty these cells: the group is then unknown."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "20,a",
            "20,c",
            "column 'job': new values: 'c' (id 1). Known: 'a', 'b'." + AGAIN,
        ),
        (
            "a,f,0",
            "a,d,0",
            "column 'sex': new values: 'd' (id 1). Known: 'f', 'm'." + NO_GROUP,
        ),
        (
            "f,0",
            "f,2",
            "column 'ok': new values: '2' (id 1). Known: '0', '1'." + NO_LABEL,
        ),
        ("20,", "x,", "column 'age': 1 of 4 cells are not numbers, the first is 'x' (id 1)."),
        ("20,", ",", "column 'age': 1 of 4 rows are empty (id 1)."),
    ],
)
def test_what_the_recipe_does_not_know_is_refused(refusal, recipe, old, new, message):
    assert refusal(PEOPLE.replace(old, new), recipe=recipe).startswith(f"nodes.csv: {message}")


def test_a_label_in_other_letters_is_not_taken_for_negative(read, refusal):
    grades = PEOPLE.replace(",0\n", ",bad\n").replace(",1\n", ",good\n")
    recipe = read(grades, positive="good", drop=["job"]).recipe
    assert refusal(grades.replace("good", "Good"), recipe=recipe) == (
        "nodes.csv: column 'ok': new values: 'Good' (ids 2, 3). Known: 'bad', 'good'." + NO_LABEL
    )


def test_labels_written_as_floats_are_the_same_labels(read, recipe):
    floats = PEOPLE.replace(",0\n", ",0.0\n").replace(",1\n", ",1.0\n")
    assert read(floats, recipe=recipe).labels.tolist() == [0, 1, 1, 0]


def test_a_column_that_is_both_feature_and_sensitive_is_reported_once(read, refusal):
    recipe = read(PEOPLE, drop=["job"], sensitive_as_feature=True).recipe
    assert refusal(PEOPLE.replace("f,0", "x,0"), recipe=recipe) == (
        "nodes.csv: column 'sex': new values: 'x' (id 1). Known: 'f', 'm'." + AGAIN
    )


def test_no_edges_follow_the_recipe(read, refusal, recipe):
    assert refusal(PEOPLE, None, recipe=recipe) == (
        "nodes.csv: the model's graph had a table of edges; pass edges for these nodes, too."
    )
    rule = fv.SimilarityThreshold(threshold=0.6)
    similar = read(PEOPLE, None, drop=["job"], similarity=rule)
    assert similar.recipe.similarity == rule
    assert read(PEOPLE, None, recipe=similar.recipe).sha256 == similar.sha256
    assert refusal(PEOPLE, recipe=similar.recipe) == (
        "edges: the model's nodes were linked by similarity (above 0.6 of the largest similarity); leave the edges "
        "out, or train again with edges."
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=10, unique=True), st.sampled_from(["minmax", "standard"]))
def test_each_node_is_treated_alone(values, scaling):
    table = {"age": values, "sex": ["f", "m"] * (len(values) // 2) + ["f"] * (len(values) % 2)}
    links = {"source": [], "target": []}
    graph = fv.read_graph(table, links, sensitive="sex", scaling=scaling)
    for row, value in enumerate(values):
        alone = fv.read_graph({"age": [value], "sex": ["f"]}, links, recipe=graph.recipe)
        assert alone.features[0, 0] == graph.features[row, 0]
