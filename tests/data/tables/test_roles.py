from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import fairview as fv
from fairview.data.tables.roles import id_order
from fairview.errors import quoted

HEAD = "id,age,sex,ok\n"


def with_labels(*labels: str) -> str:
    return HEAD + "".join(f"{k},{k},{'fm'[k % 2]},{label}\n" for k, label in enumerate(labels))


def with_groups(*groups: str) -> str:
    return HEAD + "".join(f"{k},{k},{group},{k % 2}\n" for k, group in enumerate(groups))


def people(**columns: object) -> pl.DataFrame:
    usual = {"id": [1, 2, 3], "age": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"], "ok": [0, 1, 1]}
    return pl.DataFrame(usual | columns, strict=False)


# --- ids --------------------------------------------------------------------------------------------------------------


def test_whole_numbers_are_ordered_by_size_and_all_else_as_texts():
    assert id_order(("10", "9", "100")).tolist() == [1, 0, 2]
    assert id_order(("10", "9", "x")).tolist() == [0, 1, 2]
    assert id_order(("10", "9", "007")).tolist() == [2, 0, 1]
    assert id_order(("9223372036854775808", "18446744073709551616", "9")).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        ([3, 1, 2], ("1", "2", "3")),
        ([3.0, 1.0, 2.0], ("1", "2", "3")),
        ([2**63 - 1, 5, 2**62], ("5", "4611686018427387904", "9223372036854775807")),
        (["b", "007", "7"], ("007", "7", "b")),
        (pd.array(["b", "007", "7"], dtype="string"), ("007", "7", "b")),
        (pd.Categorical(["b", "007", "7"]), ("007", "7", "b")),
    ],
)
@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_ids_of_frames(read, frame, ids, texts):
    if frame is pl.DataFrame:
        ids = list(ids)
    table = frame({"id": ids, "age": [1, 2, 3], "sex": ["f", "m", "f"], "ok": [0, 1, 1]})
    assert read(table, None).node_ids == texts


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (people(id=[1, None, 3]), "1 of 3 ids are empty (row 1, counted from 0)."),
        (people(id=["a", "", "b"]), "1 of 3 ids are empty (row 1, counted from 0)."),
        (people(id=[1.0, float("nan"), 3.0]), "1 of 3 ids are empty (row 1, counted from 0)."),
        (pd.DataFrame({"id": [1.0, None], "age": [1, 2], "sex": ["f", "m"], "ok": [0, 1]}), "1 of 2 ids are empty"),
        (
            people(id=[1.5, 2.0, 3.0]),
            "ids must be texts or whole numbers below 2**53, got 1.5 (row 0, counted from 0).",
        ),
        (people(id=[2.0**60, 2.0, 3.0]), "ids must be texts or whole numbers below 2**53, got 1.15"),
        (people(id=[[1], [2], [3]]), "List(Int64) values can't be ids; use texts or whole numbers."),
        (people(id=[1, 1, 2]), "1 ids occur more than once: '1' (rows 0, 1, counted from 0)."),
    ],
)
def test_bad_ids_are_one_problem_that_does_not_drag_others_along(refusal, table, message):
    assert refusal(table).startswith(f"nodes: column 'id': {message}")


def test_another_id_column(read, refusal):
    assert read("key,age,sex,ok\nb,1,f,0\na,2,m,1\n", None, id="key").node_ids == ("a", "b")
    assert refusal(id="key") == (
        "nodes.csv: no column 'key'. Known: id, age, sex, ok. Without id, the column 'id' or the row "
        "numbers are the ids."
    )


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "codes", "classes"),
    [
        ("0 1 1", [0, 1, 1], ("0", "1")),
        ("-1 1 1", [0, 1, 1], ("-1", "1")),
        ("0.0 1.0 1", [0, 1, 1], ("0", "1")),
        ("-1.0 1.0 1.0", [0, 1, 1], ("-1", "1")),
        ("1 1 1", [1, 1, 1], ("0", "1")),
        ("0 0 0", [0, 0, 0], ("0", "1")),
    ],
)
def test_labels_that_are_understood_by_themselves(read, labels, codes, classes):
    graph = read(with_labels(*labels.split()), None)
    assert (graph.labels.tolist(), graph.classes) == (codes, classes)


@pytest.mark.parametrize("labels", ["1 2 2", "yes no no", "true false true"])
def test_labels_that_need_to_be_told(refusal, labels):
    values = sorted(set(labels.split()))
    assert refusal(with_labels(*labels.split()), None) == (
        f"nodes.csv: column 'ok': the labels are {quoted(values)}. "
        f"Say which is positive, for example positive='{values[-1]}'."
    )


@pytest.mark.parametrize(
    ("labels", "positive", "unknown"),
    [
        ("-1 0 1", "1", "-1"),
        ("0 1 9", "1", "9"),
        ("no unknown yes", "yes", "unknown"),
        ("bad good unknown", "good", "unknown"),
        ("N/A no yes", "yes", "N/A"),
        ("bad fair good", "good", "VALUE"),
    ],
)
def test_of_three_labels_one_may_mean_that_it_is_not_known(refusal, labels, positive, unknown):
    values = sorted(set(labels.split()))
    assert refusal(with_labels(*labels.split()), None) == (
        f"nodes.csv: column 'ok': the labels are {quoted(values)}. "
        f"Say which is positive, for example positive='{positive}'. "
        f"If one means that the label is not known, pass unlabelled=['{unknown}']."
    )


def test_a_single_label_that_looks_unknown_is_still_a_message(refusal):
    assert "the labels are 'unknown'. Say which is positive" in refusal(with_labels(*["unknown"] * 3), None)


def test_of_three_labels_the_others_count_as_negative_and_it_is_noted(read):
    graph = read(with_labels("a", "b", "c"), None, positive="b")
    assert (graph.labels.tolist(), graph.classes) == ([0, 1, 0], ("not b", "b"))
    assert "labels 'a', 'c' count as negative" in graph.provenance.notes


@pytest.mark.parametrize(
    ("labels", "positive"),
    [([1, 2, 2], 2), ([False, True, True], True), (["0.0", "1.0", "1.0"], "1.0"), ([0, 1, 1], 1.0)],
)
def test_the_positive_value_may_be_given_as_what_it_is(read, labels, positive):
    assert read(people(ok=labels), None, positive=positive).labels.tolist() == [0, 1, 1]


def test_a_positive_value_that_is_not_there(refusal):
    assert refusal(with_labels("good", "bad"), None, positive="goood") == (
        "nodes.csv: column 'ok': no label 'goood'; the labels are 'bad', 'good'."
    )


@pytest.mark.parametrize("positive", [None, "1"])
def test_no_label_at_all(refusal, positive):
    assert refusal(with_labels("", "", ""), None, positive=positive) == "nodes.csv: column 'ok': every label is empty."


@pytest.mark.parametrize("values", [[0.0, float("nan"), 1.0], [0, None, 1], ["0", "", "1"]])
def test_a_missing_label_is_no_class_of_its_own(read, values):
    assert read(people(ok=values), None).labels.tolist() == [0, -1, 1]


def test_a_class_may_be_called_unlabelled(read):
    graph = read(with_labels("unlabelled", "good"), None, positive="good")
    assert graph.classes == ("unlabelled", "good")


# --- the sensitive attribute ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[1.0, float("nan"), 2.0], [1, None, 2], ["1", " ", "2"]])
def test_a_missing_sensitive_value_is_no_group(read, values):
    graph = read(people(sex=values), None)
    assert (graph.groups, graph.sensitive.tolist()) == (("1", "2"), [0, -1, 1])


def test_groups_are_ordered_as_numbers_if_they_are_numbers(read):
    assert read(with_groups("10", "9", "2.5"), None).groups == ("2.5", "9", "10")
    assert read(with_groups("10", "9", "x"), None).groups == ("10", "9", "x")
    assert read(with_groups("1.0", "1", "01"), None).groups == ("01", "1", "1.0")


def test_one_group_is_a_graph_and_its_gap_is_undefined(read):
    graph = read(with_groups("f", "f", "f", "f"), None)
    assert graph.groups == ("f",)
    found = fv.evaluate(fv.Constant(answer="positive").fit(graph), graph, split="all")
    assert isinstance(found["statistical_parity_gap"], fv.Undefined)


def test_twenty_groups_are_groups_and_more_are_a_quantity(read, refusal):
    assert len(read(with_groups(*map(str, range(20))), None).groups) == 20
    assert refusal(with_groups(*map(str, range(21))), None) == (
        "nodes.csv: column 'sex': 21 different values (0, 1, 2, 3, 4 and 16 more), more than 20 groups. "
        "Bin it into groups first, in a column of its own."
    )


def test_no_sensitive_value_at_all(refusal):
    assert refusal(with_groups("", "", ""), None) == "nodes.csv: column 'sex': every value is empty."


def test_names_for_groups_in_their_order_also_of_groups_that_are_not_there(read, refusal):
    graph = read(people(sex=[0, 1, 0]), None, groups={1: "women", 0: "men", 2: "others"})
    assert graph.group_sizes == {"women": 1, "men": 2, "others": 0}
    assert refusal(groups={"f": "women"}) == (
        "nodes.csv: column 'sex': no group name for 'm'; there are names for 'f'."
    )


@pytest.mark.parametrize("column", ["sex", "ok", "part"])
def test_a_column_of_lists_is_one_problem(refusal, column):
    table = people(**{"part": ["train"] * 3, column: [[1], [2], [3]]})
    assert refusal(table, None, split="part") == (
        f"nodes: column '{column}': holds List(Int64) values; expected texts or numbers."
    )


# --- labels that mean "not known" -------------------------------------------------------------------------------------

REPAID = "id,age,sex,ok\n1,20,f,yes\n2,30,unknown,unknown\n3,40,f,no\n4,50,m,?\n"


def test_unlabelled_values_are_blank_in_the_label_column_only(read):
    graph = read(REPAID, None, positive="yes", unlabelled=["unknown", "?"])
    assert graph.labels.tolist() == [1, -1, 0, -1]
    assert graph.classes == ("no", "yes")
    assert graph.groups == ("f", "m", "unknown")
    assert "2 nodes have no label: they are propagated, but in no loss and no metric" in graph.provenance.notes


def test_two_labels_that_are_left_need_no_positive(read):
    graph = read(with_labels("0", "1", "9"), None, unlabelled=["9"])
    assert (graph.labels.tolist(), graph.classes) == ([0, 1, -1], ("0", "1"))
    again = read(with_labels("0", "1", "9.0"), None, unlabelled=["9"])
    assert again.sha256 == graph.sha256


def test_the_recipe_knows_what_is_unlabelled(read):
    graph = read(REPAID, None, positive="yes", unlabelled=["unknown", "?"])
    assert graph.recipe.label.unlabelled == ("unknown", "?")
    new = read("id,age,sex,ok\n7,20,f,?\n8,25,m,yes\n", None, recipe=graph.recipe)
    assert new.labels.tolist() == [-1, 1]


def test_an_unlabelled_value_that_is_not_there_is_a_mistake(refusal):
    assert refusal(REPAID, None, positive="yes", unlabelled=["unknwon"]) == (
        "nodes.csv: column 'ok': no label 'unknwon' to take for unlabelled; the labels are '?', 'no', 'unknown', 'yes'."
    )


def test_unlabelled_values_need_a_label_column(refusal):
    assert refusal(REPAID, None, label=None, drop=["ok"], unlabelled=["?"]) == (
        "unlabelled: there is no label column; name one with label."
    )
