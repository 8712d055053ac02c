"""What a user gets for bad input: one test per promise, with the message as it is printed."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest

import fairview as fv
from fairview.data.tables import cells as tables

PEOPLE = "id,age,sex,ok\n1,20,f,0\n2,30,m,1\n3,40,f,1\n4,50,m,0\n"
LINKS = "source,target\n1,2\n2,3\n3,4\n"

# --- tables -----------------------------------------------------------------------------------------------------------


def test_ids_are_exact_strings_never_merged_never_missing(read):
    ids = ["007", "7", "07", "7.0", "NA", "null", "nan", "None", "9223372036854775807", "9223372036854775808", "a b"]
    rows = "".join(f"{name},{age},{'fm'[age % 2]},{age % 2}\n" for age, name in enumerate(ids))
    pairs = set(itertools.pairwise(ids))
    links = "source,target\n" + "".join(f"{first},{second}\n" for first, second in pairs)
    graph = read("id,age,sex,ok\n" + rows, links, missing_values=["NA", "null"], directed=True)
    assert sorted(graph.ids) == sorted(ids)
    ends = zip(graph.adjacency.sources, graph.adjacency.indices, strict=True)
    assert {(graph.ids[first], graph.ids[second]) for first, second in ends} == pairs


def test_duplicate_ids(refusal):
    assert refusal(PEOPLE + "1,60,f,0\n2,61,m,1\n") == (
        "nodes.csv: column 'id': 2 ids occur more than once: '1', '2' (rows 0, 1, 4, 5, counted from 0)."
    )


@pytest.mark.parametrize("header", ["id,age,age,sex,ok", 'id,"age",age,sex,ok', 'id,"age","age",sex,ok'])
def test_duplicate_column_names(refusal, header):
    assert refusal(f"{header}\n1,2,3,f,0\n") == "nodes.csv: duplicate column names: age. Rename them."


def test_rows_longer_or_shorter_than_the_header(refusal):
    assert refusal(PEOPLE + "5,60\n6,70,f,0,1\n") == (
        "nodes.csv: 2 of 6 rows are longer or shorter than the header's 4 cells (line 6 has 2, line 7 has 5). "
        "A separator inside a cell needs quotes around the cell."
    )


def test_empty_cell_in_a_feature(refusal, read):
    holes = PEOPLE.replace("30", "").replace("50", "")
    assert refusal(holes) == (
        "nodes.csv: column 'age': 2 of 4 rows are empty (ids 2, 4). Fill them, drop them, or pass missing='mean'."
    )
    assert "2 empty cells of 2 nodes filled with the mean" in read(holes, missing="mean").provenance.notes
    assert "2 empty cells of 2 nodes filled with the mean" in read(holes, missing="indicator").provenance.notes
    assert "2 of 4 nodes dropped: empty cells in their features" in read(holes, missing="drop").provenance.notes


@pytest.mark.parametrize("value", ["inf", "-inf", "Infinity", "1e400", "1e39", "-3.5e38"])
def test_infinite_and_what_float32_can_not_hold(refusal, value):
    assert refusal(PEOPLE.replace("30", value)) == (
        f"nodes.csv: column 'age': 1 of 4 values are infinite or beyond float32 (id 2; first: {value}). "
        "Correct them, or drop the column."
    )


@pytest.mark.parametrize("scaling", ["minmax", "standard"])
def test_constant_column_is_kept_scaled_to_0_and_listed(read, scaling):
    graph = read("id,age,sex,ok\n1,7.1,f,0\n2,7.1,m,1\n3,7.1,f,1\n4,7.1,m,0\n", scaling=scaling)
    assert graph.channels == ("age",)
    assert (graph.features == 0).all()
    assert "constant channels: 'age'" in graph.provenance.notes


@pytest.mark.parametrize(("sign", "shown"), [(";", "';'"), ("\t", "a tab"), ("|", "'|'")])
def test_wrong_separator(refusal, read, sign, shown):
    other = PEOPLE.replace(",", sign)
    assert refusal(other) == f"nodes.csv: one column only, and its header contains {shown}. Pass separator={sign!r}."
    assert read(other, separator=sign).sha256 == read().sha256


def test_utf_16(refusal, read):
    assert refusal(PEOPLE.encode("utf-16")) == (
        "nodes.csv: is UTF-16, not UTF-8. Save it as UTF-8, or pass encoding='utf-16'."
    )
    assert refusal(PEOPLE.encode("utf-16-le")) == (
        "nodes.csv: line 1: a NUL byte. Is it UTF-16? Pass encoding='utf-16', or clean the file."
    )
    assert refusal(encoding="utf-16") == (
        "2 problems:\n"
        "  - nodes.csv: is not utf-16. Leave encoding out, or say what it is.\n"
        "  - edges.csv: is not utf-16. Leave encoding out, or say what it is."
    )
    assert read(PEOPLE.encode("utf-16"), LINKS.encode("utf-16"), encoding="utf-16").sha256 == read().sha256


def test_latin_1(refusal, read):
    text = PEOPLE.replace(",m,", ",mâle,")
    assert refusal(text.encode("latin-1")) == (
        "nodes.csv: line 3: byte 0xe2 is not utf-8. Save it as UTF-8, or pass encoding='latin-1'."
    )
    assert read(text.encode("latin-1"), encoding="latin-1").groups == ("f", "mâle")


def test_nul_byte(refusal):
    assert refusal(PEOPLE.replace("40", "4\0")) == (
        "nodes.csv: line 4: a NUL byte. Is it UTF-16? Pass encoding='utf-16', or clean the file."
    )


def test_unclosed_quote(refusal):
    assert refusal(PEOPLE.replace("30", '"30')) == (
        "nodes.csv: line 3: a quote is opened and never closed. Close it, or double it inside."
    )


@pytest.mark.parametrize("cell", ['3"0"', '"3"0', '"3" ', '"a" "b"', '""x'])
def test_stray_quote(refusal, cell):
    assert refusal(PEOPLE.replace("30", cell)) == (
        "nodes.csv: line 3: a quote inside a cell, or text after a closing one. "
        "Put the whole cell in quotes, and double those inside."
    )


@pytest.mark.parametrize("content", ["", "\n\n", " \r\n \n"])
def test_empty_file(refusal, content):
    assert refusal(content, content) == (
        "2 problems:\n  - nodes.csv: the file is empty.\n  - edges.csv: the file is empty."
    )


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_header_only(refusal, end):
    assert refusal("id,age,sex,ok" + end) == "nodes.csv: a header but no rows."


@pytest.mark.parametrize("text", ["\ufeff{}", "\ufeff{}\n\n", "{}\n\n\n", "\n\n{}"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_byte_order_mark_and_line_ends_are_accepted(read, text, line_end):
    nodes, edges = (text.format(table.rstrip("\n")).replace("\n", line_end) for table in (PEOPLE, LINKS))
    assert read(nodes, edges).sha256 == read().sha256


@pytest.mark.parametrize("cell", ['"1,000"', "12 %", "2020-01-31", "true", "0x10", "1_000", "٣"])
def test_text_in_a_numeric_column(refusal, cell):
    shown = cell.strip('"')
    assert refusal(PEOPLE.replace("30", cell)) == (
        f"nodes.csv: column 'age': 1 of 4 cells are not numbers, the first is '{shown}' (id 2). Clean them, leave the "
        "column out (drop=['age']), or one-hot encode it (categorical=['age'])."
    )


@pytest.mark.parametrize("cell", ["NA", "nan", "NaN", "null", "?"])
def test_words_for_missing_are_not_missing_until_said_so(refusal, read, cell):
    assert refusal(PEOPLE.replace("30", cell)) == (
        f"nodes.csv: column 'age': 1 of 4 cells are not numbers, the first is '{cell}' (id 2). "
        f"If it means missing, pass missing_values=['{cell}'] and say what to do with missing."
    )
    graph = read(PEOPLE.replace("30", cell), missing_values=[cell], missing="mean", scaling="none")
    assert graph.features[1, 0] == np.float32(110 / 3)


def test_categorical_columns_are_one_hot_encoded_only_when_asked(refusal, read):
    jobs = "id,job,sex,ok\n1,b,f,0\n2,a,m,1\n3,b,f,1\n4,c,m,0\n"
    assert "column 'job': 4 of 4 cells are not numbers, the first is 'b' (ids 1, 2, 3, 4)" in refusal(jobs)
    graph = read(jobs, categorical=["job"], scaling="none")
    assert graph.channels == ("job=a", "job=b", "job=c")
    assert graph.features.tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_gz_that_expands_beyond_the_limit(refusal, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    bomb = gzip.compress(PEOPLE.encode() + b"5,1,f,0\n" * 10_000)
    assert len(bomb) < 1000
    assert refusal({"nodes.csv.gz": bomb}).startswith("nodes.csv.gz: expands to more than the 1,000 bytes allowed.")


def test_gz_that_is_cut_short_or_no_gz_at_all(refusal, read):
    packed = gzip.compress(PEOPLE.encode())
    assert read({"nodes.csv.gz": packed}).sha256 == read().sha256
    assert refusal({"n.csv.gz": packed[:-6]}) == "n.csv.gz: the gzip data ends too early. Get the file again."
    assert refusal({"n.csv.gz": PEOPLE}).startswith("n.csv.gz: not a gzip file, whatever its name says.")


def test_zip_is_refused(refusal):
    assert refusal(b"PK\x03\x04 and so on") == "nodes.csv: is a zip archive. Unpack it and pass the table inside."


# --- graph ------------------------------------------------------------------------------------------------------------


def test_edge_to_an_unknown_id(refusal, read):
    links = LINKS + "".join(f"1,{stranger}\n" for stranger in range(10, 17))
    assert refusal(edges=links) == (
        "edges.csv: 7 of 10 edges point to ids that nodes.csv does not have ('10', '11', '12', '13', '14' and 2 more). "
        "Add these nodes, or pass drop_unknown=True."
    )
    graph = read(edges=links, drop_unknown=True)
    assert graph.sha256 == read().sha256
    assert "edges.csv: 7 of 10 edges dropped: an end is not in nodes.csv" in graph.provenance.notes


def test_self_loops_parallel_edges_and_one_direction_are_counted(read):
    graph = read(edges="source,target\n1,1\n1,2\n1,2\n2,1\n2,3\n")
    assert graph.num_edges == 2
    assert graph.provenance.notes == (
        "1 self-loops dropped",
        "1 parallel edges merged",
        "1 edges given in one direction only, made symmetric",
    )


def test_directed_edges_stay_as_given(read):
    graph = read(edges="source,target\n1,2\n2,1\n2,3\n", directed=True)
    assert list(zip(graph.adjacency.sources.tolist(), graph.adjacency.indices.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (1, 2),
    ]


def test_no_edges_works(read):
    graph = read(edges="source,target\n")
    assert graph.num_edges == 0
    assert "edges.csv: no edges" in graph.provenance.notes
    assert fv.summarise(graph)["isolated_nodes"] == 4


def test_isolated_nodes_and_many_components_work(read):
    facts = fv.summarise(read(edges="source,target\n1,2\n"))
    assert (facts["isolated_nodes"], facts["components"]) == (2, 3)


def test_a_hub_joined_to_everyone_works(read):
    people = "id,age,sex,ok\n" + "".join(f"{k},{k},{'fm'[k % 2]},{k % 2}\n" for k in range(2000))
    graph = read(people, "".join(f"0 {k}\n" for k in range(1, 2000)))
    assert graph.adjacency.degree.max() == 1999
    assert graph.num_edges == 1999


# --- label, sensitive attribute, splits -------------------------------------------------------------------------------


def test_other_labels_need_positive_and_the_error_lists_them(refusal, read):
    grades = PEOPLE.replace(",0\n", ",bad\n").replace(",1\n", ",good\n")
    assert refusal(grades) == (
        "nodes.csv: column 'ok': the labels are 'bad', 'good'. Say which is positive, for example positive='good'."
    )
    graph = read(grades, positive="good")
    assert (graph.classes, graph.labels.tolist()) == (("bad", "good"), [0, 1, 1, 0])


def test_unlabelled_nodes_are_context_only_and_counted(read):
    graph = read(PEOPLE.replace("50,m,0", "50,m,"))
    assert graph.labels.tolist() == [0, 1, 1, -1]
    assert "1 nodes have no label: they are propagated, but in no loss and no metric" in graph.provenance.notes


def test_one_class_in_train_or_no_train_at_all_is_refused_before_training(read):
    people = "id,age,sex,ok,part\n1,20,f,1,train\n2,30,m,1,train\n3,40,f,0,val\n4,50,m,0,test\n"
    graph = read(people, split="part")
    with pytest.raises(fv.InputError, match=r"^train: all 2 labels are '1'; both classes are needed\.$"):
        fv.LogisticRegression().fit(graph)
    nobody = read(people.replace("train", ""), split="part")
    with pytest.raises(fv.InputError, match=r"^train: no node of the train split has a label\.$"):
        fv.LogisticRegression().fit(nobody)


def test_more_than_two_groups_are_never_binarised(read):
    graph = read("id,age,sex,ok\n1,2,f,0\n2,3,m,1\n3,4,d,1\n", edges=None)
    assert graph.group_sizes == {"d": 1, "f": 1, "m": 1}


def test_missing_sensitive_values_are_counted(read):
    graph = read(PEOPLE.replace("30,m", "30,"))
    assert graph.sensitive.tolist() == [0, -1, 0, 1]
    assert "1 nodes have no sensitive value: they are left out of group metrics" in graph.provenance.notes


def test_new_data_is_matched_by_name_and_missing_or_retyped_columns_are_listed(read, refusal):
    people = "id,age,height,sex,ok\n1,20,1.5,f,0\n2,30,1.6,m,1\n3,40,1.7,f,1\n4,50,1.8,m,0\n"
    graph = read(people)
    reordered = "ok,zip,height,id,sex,age\n0,x,1.5,1,f,20\n1,y,1.6,2,m,30\n1,z,1.7,3,f,40\n0,x,1.8,4,m,50\n"
    assert read(reordered, recipe=graph.recipe).sha256 == graph.sha256
    assert refusal("id,sex\n1,f\n2,m\n3,f\n4,m\n", recipe=graph.recipe) == (
        "2 problems:\n"
        "  - nodes.csv: no column 'age'. Known: id, sex.\n"
        "  - nodes.csv: no column 'height'. Known: id, sex."
    )
    assert "column 'age': 1 of 4 cells are not numbers, the first is 'old' (id 1)" in refusal(
        people.replace("20", "old"), recipe=graph.recipe
    )


# --- all of it at once ------------------------------------------------------------------------------------------------


def test_all_independent_problems_of_both_tables_are_in_one_message(refusal):
    people = "id,age,height,sex,ok,part\n1,x,1e99,f,0,train\n2,,2,m,2,dev\n3,3,3,f,1,test\n"
    message = refusal(people, "source,target\n1,9\n", drop=["heigth"], split="part")
    assert message == (
        "6 problems:\n"
        "  - nodes.csv: column 'ok': the labels are '0', '1', '2'. Say which is positive, for example positive='1'. "
        "If one means that the label is not known, pass unlabelled=['2'].\n"
        "  - nodes.csv: no column 'heigth'. Did you mean 'height'?\n"
        "  - nodes.csv: column 'part': 1 of 3 rows name no split ('dev' in 1). Use train, val (or valid, validation) "
        "or test, or leave the cell empty to keep a node out of all.\n"
        "  - nodes.csv: column 'age': 1 of 3 cells are not numbers, the first is 'x' (id 1). Clean them, leave the "
        "column out (drop=['age']), or one-hot encode it (categorical=['age']).\n"
        "  - nodes.csv: column 'height': 1 of 3 values are infinite or beyond float32 (id 1; first: 1e99). Correct "
        "them, or drop the column.\n"
        "  - edges.csv: 1 of 1 edges point to ids that nodes.csv does not have ('9'). Add these nodes, or pass "
        "drop_unknown=True."
    )


def test_problems_of_one_file_do_not_hide_those_of_the_other(refusal):
    assert refusal("id,age\n1\n", "source\n1\n2,3\n") == (
        "2 problems:\n"
        "  - nodes.csv: 1 of 1 rows are longer or shorter than the header's 2 cells (line 2 has 1). A separator inside "
        "a cell needs quotes around the cell.\n"
        "  - edges.csv: 1 of 2 rows are longer or shorter than the header's 1 cells (line 3 has 2). A separator inside "
        "a cell needs quotes around the cell."
    )
