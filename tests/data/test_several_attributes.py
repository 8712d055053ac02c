"""A graph with several sensitive attributes: made, read, copied, and seen one attribute at a time."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.attributes import Attribute
from fairview.data.summary import summarise
from fairview.propagation.node_order import reordered

PEOPLE = pl.DataFrame(
    {
        "id": list("abcdef"),
        "age": [20, 30, 40, 50, 60, 70],
        "race": ["x", "y", "x", "y", None, "x"],
        "sex": ["f", "f", "m", "m", "f", "m"],
        "ok": [0, 1, 1, 0, 1, 0],
    }
)
LINKS = pl.DataFrame({"source": list("abcde"), "target": list("bcdef")})


def read(**options: Any) -> fv.NodeGraph:
    return fv.read_graph(PEOPLE, LINKS, **({"label": "ok", "sensitive": ["race", "sex"]} | options))


def test_the_plain_fields_hold_the_combinations() -> None:
    graph = read()
    assert graph.several
    assert graph.sensitive_name == "race & sex"
    assert graph.groups == ("race=x & sex=f", "race=x & sex=m", "race=y & sex=f", "race=y & sex=m")
    assert graph.sensitive.tolist() == [0, 2, 1, 3, -1, 1]
    assert "1 nodes have no value of 'race': they are left out of group metrics" in graph.provenance.notes
    assert graph.channels == ("age",)


@pytest.mark.parametrize("name", ["race", "sex"])
def test_one_attribute_of_several_is_the_graph_that_was_read_with_it_alone(name: str) -> None:
    other = {"race": "sex", "sex": "race"}[name]
    graph, alone = read().attribute(name), read(sensitive=name, drop=[other])
    assert graph.sha256 == alone.sha256
    assert graph.sensitive_name == name
    assert not graph.several


def test_all_together_is_an_attribute_by_its_name_too() -> None:
    graph = read()
    assert graph.attribute("race & sex") is graph
    with pytest.raises(fv.InputError, match=r"no sensitive attribute 'x'. Known: race\.$"):
        graph.attribute("race").attribute("x")
    with pytest.raises(fv.InputError, match=r"no sensitive attribute 'rase'. Did you mean 'race'"):
        graph.attribute("rase")


def test_a_list_of_one_is_one() -> None:
    assert read(sensitive=["sex"], drop=["race"]).sha256 == read(sensitive="sex", drop=["race"]).sha256


def test_two_tables_that_differ_in_an_attribute_of_an_unknown_combination_differ() -> None:
    people = PEOPLE.with_columns(sex=pl.Series(["f", "f", "m", "m", "m", "m"]))  # 'e', whose race is unknown
    other = fv.read_graph(people, LINKS, label="ok", sensitive=["race", "sex"])
    assert (other.sensitive == read().sensitive).all()
    assert other.sha256 != read().sha256


def test_arrays_by_name() -> None:
    graph = fv.NodeGraph.from_arrays(
        features=np.zeros((4, 1)), edges=[[0], [1]], sensitive={"s": list("fmfm"), "t": [0, 0, 1, None]}
    )
    assert [each.sizes for each in graph.attributes] == [{"f": 2, "m": 2}, {"0": 2, "1": 1}]
    with pytest.raises(fv.InputError, match="sensitive 't': 3 values for 4 nodes"):
        fv.NodeGraph.from_arrays(
            features=np.zeros((4, 1)), edges=[[0], [1]], sensitive={"s": list("fmfm"), "t": [0, 1, 0]}
        )
    with pytest.raises(fv.InputError, match="names no attribute"):
        fv.NodeGraph.from_arrays(features=np.zeros((4, 1)), edges=[[0], [1]], sensitive={})


def test_hidden_groups_are_hidden_in_all_attributes() -> None:
    hidden = read().hiding_groups([True, False, False, False, False, False])
    assert [each.codes[0] for each in (*hidden.attributes, hidden.crossed)] == [-1, -1, -1]
    assert read().attribute("sex").hiding_groups([True] * 6).sensitive_unknown == 6


def test_groups_that_contradict_the_attributes_are_refused() -> None:
    graph = read()
    with pytest.raises(fv.InputError, match="don't make the groups in `sensitive`"):
        graph.replace(sensitive=np.full(6, -1, dtype=np.int16))
    with pytest.raises(fv.InputError, match="'race' has 2 codes for 6 nodes"):
        graph.replace(attributes=tuple(each.at(np.array([0, 1])) for each in graph.attributes))


def test_nobody_can_write_to_the_codes() -> None:
    codes = np.zeros(6, dtype=np.int16)
    graph = read().with_attributes([Attribute("a", codes, ("0",)), Attribute("b", codes, ("0", "1"))])
    codes[0] = -1
    assert graph.attributes[0].codes[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        graph.attributes[0].codes[0] = 1


def test_copies_keep_the_attributes() -> None:
    graph = read(sensitive_as_feature=True, missing="mean")
    for copy in (pickle.loads(pickle.dumps(graph)), graph.noting("x"), fv.from_pyg(graph.to_pyg())):
        assert copy.sha256 == graph.sha256
        assert [(each.name, each.groups, each.channels) for each in copy.attributes] == [
            ("race", ("x", "y"), ("race",)),
            ("sex", ("f", "m"), ("sex",)),
        ]


def test_leaving_a_channel_out_leaves_it_out_of_the_attribute() -> None:
    graph = read(sensitive_as_feature=True, missing="mean").without_channels(["race"])
    assert [each.channels for each in graph.attributes] == [(), ("sex",)]
    assert graph.sensitive_channels == ("sex",)


def test_another_order_of_the_nodes_moves_the_attributes_along() -> None:
    graph = read()
    order = np.array([5, 4, 3, 2, 1, 0])
    moved = reordered(graph, order)
    assert [each.codes.tolist() for each in moved.attributes] == [
        each.codes[order].tolist() for each in graph.attributes
    ]


def test_a_new_table_is_read_alike() -> None:
    graph = read()
    again = fv.read_graph(PEOPLE, LINKS, recipe=graph.recipe)
    assert again.sha256 == graph.sha256
    without = fv.read_graph(PEOPLE.drop("sex"), LINKS, recipe=graph.recipe)
    assert without.attribute("race").group_sizes == {"x": 3, "y": 2}
    assert without.sensitive_unknown == 6
    strange = PEOPLE.with_columns(sex=pl.Series(["f", "f", "m", "m", "f", "d"]))
    with pytest.raises(fv.InputError, match=r"column 'sex'.*'d'"):
        fv.read_graph(strange, LINKS, recipe=graph.recipe)


def test_names_of_groups_are_given_by_column() -> None:
    graph = read(groups={"sex": {"f": "women", "m": "men"}})
    assert [each.groups for each in graph.attributes] == [("x", "y"), ("women", "men")]
    with pytest.raises(
        fv.InputError, match="groups: there are several sensitive columns; expected their names by column"
    ):
        read(groups={"f": "women", "m": "men"})
    with pytest.raises(fv.InputError, match=r"groups: no sensitive column 'sec'. Did you mean 'sex'"):
        read(groups={"sec": {"f": "women", "m": "men"}})


def test_every_problem_of_every_attribute_is_told_at_once() -> None:
    with pytest.raises(fv.InputError) as caught:
        read(sensitive=["rase", "sec"])
    assert "no column 'rase'. Did you mean 'race'?" in str(caught.value)
    assert "no column 'sec'. Did you mean 'sex'?" in str(caught.value)


def test_pyg_data_with_columns_of_its_own() -> None:
    data = read().to_pyg()
    data.sex, data.race = [0, 0, 1, 1, 0, 1], ["x", "y", "x", "y", None, "x"]
    graph = fv.from_pyg(data, sensitive=["race", "sex"])
    assert graph.sensitive.tolist() == [0, 2, 1, 3, -1, 1]
    values = fv.from_pyg(data, sensitive={"race": data.race, "sex": data.sex})
    assert values.groups == graph.groups
    with pytest.raises(fv.InputError, match="no attribute or channel 'rase'"):
        fv.from_pyg(data, sensitive=["rase", "sex"])
    with pytest.raises(fv.InputError, match="groups: they name the groups of one attribute"):
        fv.from_pyg(data, sensitive=["race", "sex"], groups=["a", "b"])
    with pytest.raises(fv.InputError, match="sensitive 'sex': 2 values for 6 nodes"):
        fv.from_pyg(data, sensitive={"race": data.race, "sex": [0, 1]})


def test_kinds_of_links_of_pyg_data_stay_with_several_attributes() -> None:
    data = read().to_pyg()
    data.race, data.sex = [0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 0, 1]
    data.edge_type = data.edge_index.sum(dim=0) % 2
    graph = fv.from_pyg(data, sensitive=["race", "sex"], link_kind="edge_type")
    assert sum(graph.link_kinds.values()) == graph.num_edges
    assert graph.to_pyg().link_kinds == list(graph.link_kinds)
    data.link_kinds = ["near", "far"]
    assert {*fv.from_pyg(data).link_kinds} <= {"near", "far"}
    assert fv.from_pyg(data, sensitive=["race", "sex"]).link_kinds == fv.from_pyg(data).link_kinds


def test_the_summary_has_each_attribute_and_their_combinations() -> None:
    facts = summarise(read())
    assert [group["nodes"] for group in facts["groups"]] == [1, 2, 1, 1]
    assert {name: [group["nodes"] for group in part["groups"]] for name, part in facts["attributes"].items()} == {
        "race": [3, 2],
        "sex": [3, 3],
    }
    assert facts["attributes"]["race"]["sensitive_unknown"] == 1
    assert facts["attributes"]["sex"]["homophily"] == pytest.approx(2 / 5)
    assert "attributes" not in summarise(read(sensitive="sex", drop=["race"]))


def test_the_frame_has_a_column_for_each_attribute() -> None:
    frame = read().to_frame()
    assert frame["sensitive:race"].to_list() == PEOPLE["race"].to_list()
    assert frame["sensitive"].to_list()[4] is None


def test_splits_give_every_combination_its_share() -> None:
    draw = np.random.default_rng(0)
    codes = {"s": draw.integers(0, 2, 800), "t": draw.integers(0, 3, 800)}
    graph = fv.NodeGraph.from_arrays(
        features=np.zeros((800, 1)), edges=[[], []], labels=draw.integers(0, 2, 800), sensitive=codes
    )
    split = fv.stratified_splits(graph, repeats=1)[0]
    for code in range(6):
        for label in (0, 1):
            members = (graph.sensitive == code) & (graph.labels == label)
            assert abs((members & split["train"]).sum() - members.sum() / 2) <= 1
