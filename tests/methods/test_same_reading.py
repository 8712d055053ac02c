"""Whatever changes a score is in the recipe: each option of a reader, flipped between fit and predict, is harmless or
refused. A new option fails the first tests here until it is added below."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import fairview as fv
from fairview.data.similarity.rules import NearestNeighbours
from fairview.methods.contract import Facts
from fairview.methods.same_reading import check_reading

N = 60


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """People with an empty cell (written -9), a second id, a second label and a second sensitive column; one-way edges
    between three columns of ids, so that every option has something to change."""
    draw = np.random.default_rng(0)
    age = draw.integers(20, 60, N)
    people = pl.DataFrame(
        {
            "id": [str(k) for k in range(N)],
            "key": [str(k) for k in draw.permutation(N)],
            "age": [-9, *age[1:].tolist()],
            "region": [int(k) for k in draw.integers(1, 4, N)],
            "sex": ["fm"[k % 2] for k in range(N)],
            "race": ["fm"[k] for k in draw.integers(0, 2, N)],
            "ok": ["yes" if k > 40 else "no" for k in age + draw.integers(-5, 5, N)],
            "other": [["yes", "no", "unknown"][k % 3] for k in range(N)],
            "part": [["train", "val", "test", "train"][k % 4] for k in range(N)],
        }
    )
    ends = draw.integers(0, N, (3, 3 * N)).astype(str)
    links = pl.DataFrame({"source": ends[0], "target": ends[1], "third": ends[2]})
    hours = [1 + k % 5 for k in range(3 * N)]
    ties = ["kin" if int(a) + int(b) & 1 else "work" for a, b in zip(ends[0], ends[1], strict=True)]
    return people, links.with_columns(hours=pl.Series(hours), tie=pl.Series(ties))


AS_FITTED: dict[str, Any] = {
    "label": "ok", "positive": "yes", "sensitive": "sex", "split": "part", "drop": ["key", "race", "other"],
    "directed": True,
}  # fmt: skip

FLIPS: dict[str, Any] = {
    "nodes": None,  # another format, below
    "edges": None,
    "label": "other",
    "sensitive": "race",
    "id": "key",
    "source": "third",
    "target": "third",
    "positive": "no",
    "classes": ("bad", "good"),
    "groups": {"f": "m", "m": "f"},
    "features": ["region"],
    "drop": ["key", "race", "other", "age"],
    "categorical": ["region"],
    "sensitive_as_feature": True,
    "scaling": "minmax",
    "scale_on": "train",
    "unscaled": ["age"],
    "missing": "mean",
    "missing_values": ["-9"],
    "unlabelled": ["no"],
    "split": None,
    "split_seed": 3,
    "similarity": NearestNeighbours(neighbours=3),
    "similarity_with_sensitive": True,
    "directed": False,
    "edge_weight": "hours",
    "link_kind": "tie",
    "drop_unknown": True,
    "separator": ";",
    "encoding": "latin-1",
    "name": "people",
    "recipe": None,  # given in one test, and left out in the other
    "context": {"id": ["x", "y"], "age": [20, 90], "region": [1, 3], "sex": ["f", "m"]},  # whom nobody knows
    "context_edges": {"source": ["0"], "target": ["1"]},
}
WITH_RECIPE = ("context", "context_edges")

BESIDE: dict[str, dict[str, Any]] = {  # what an option needs beside it
    "label": {"drop": ["key", "race", "ok"]},
    "sensitive": {"drop": ["key", "sex", "other"]},
    "id": {"drop": ["id", "race", "other"]},
    "features": {"drop": []},
    "missing_values": {"missing": "mean"},
    "split": {"drop": [*AS_FITTED["drop"], "part"]},
    "split_seed": {"split": None, "drop": [*AS_FITTED["drop"], "part"]},
    "similarity": {"edges": None},
    "similarity_with_sensitive": {"edges": None, "sensitive_as_feature": True},
}


def in_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(frame.to_dict(as_series=False))


def model(name: str) -> fv.Estimator:
    if name == "links":
        return fv.Vanilla(epochs=5, hidden=4)
    return fv.GroupThresholds(model="vanilla", model_settings={"epochs": 5, "hidden": 4})


@pytest.fixture(scope="module")
def fitted() -> dict[str, tuple[fv.Estimator, dict[str, float]]]:
    graph = fv.read_graph(*tables(), **AS_FITTED)
    models = {name: model(name).fit(graph) for name in ("links", "groups")}
    return {name: (each, scores(each, graph)) for name, each in models.items()}


def scores(model: fv.Estimator, graph: fv.NodeGraph) -> dict[str, float]:
    return dict(zip(graph.ids, model.predict_proba(graph)[:, 1].tolist(), strict=True))


def test_every_option_of_read_graph_is_flipped():
    assert list(FLIPS) == list(inspect.signature(fv.read_graph).parameters)


@pytest.mark.parametrize("name", ["links", "groups"])
@pytest.mark.parametrize("option", FLIPS)
def test_an_option_of_read_graph_beside_the_recipe_changes_no_score(fitted, option, name):
    model, expected = fitted[name]
    people, links = tables()
    changes = {option: FLIPS[option]} if option not in ("nodes", "edges", "recipe") else {}
    try:
        graph = fv.read_graph(
            in_pandas(people) if option == "nodes" else people,
            None if option == "edges" else links,
            recipe=model.facts().recipe,
            **changes,
        )
        found = scores(model, graph)
    except fv.InputError:
        return
    assert {name: found[name] for name in expected} == expected


HARMLESS = {
    "nodes", "label", "positive", "classes", "unlabelled", "split", "split_seed", "link_kind", "drop_unknown",
    "separator", "encoding", "name", "recipe",
}  # fmt: skip
"""Options that change no score, and may differ without the recipe."""


@pytest.mark.parametrize("option", [option for option in FLIPS if option not in WITH_RECIPE])
def test_an_option_of_read_graph_in_place_of_the_recipe_is_harmless_or_refused(fitted, option):
    model, expected = fitted["groups"]
    people, links = tables()
    changes = AS_FITTED | BESIDE.get(option, {})
    if option not in ("nodes", "edges", "recipe"):
        changes |= {option: FLIPS[option]}
    edges = None if option == "edges" else changes.pop("edges", links)
    graph = fv.read_graph(in_pandas(people) if option == "nodes" else people, edges, **changes)
    if option in HARMLESS:
        assert scores(model, graph) == expected
    else:
        with pytest.raises(fv.InputError, match=r"^predict: "):
            model.predict_proba(graph)


def test_the_message_names_what_differs(fitted):
    model, _ = fitted["links"]
    graph = fv.read_graph(*tables(), **AS_FITTED | {"scaling": "minmax", "missing_values": ["x"]})
    with pytest.raises(fv.InputError) as caught:
        model.predict_proba(graph)
    assert str(caught.value) == (
        "predict: the graph's table was not read as the model's was ('age', 'region', 'missing_values' differ). "
        "Read it with recipe=model.facts().recipe."
    )
    graph = fv.read_graph(*tables(), **AS_FITTED | {"directed": False})
    with pytest.raises(fv.InputError) as caught:
        model.predict_proba(graph)
    assert str(caught.value) == (
        "predict: the model was fitted with directed edges, and this graph's are symmetric. Pass directed=True."
    )


def test_groups_by_another_attribute_are_refused_where_they_are_needed(fitted):
    model, _ = fitted["groups"]
    graph = fv.read_graph(*tables(), recipe=model.facts().recipe).replace(sensitive_name="race")
    with pytest.raises(fv.InputError) as caught:
        model.predict_proba(graph)
    assert str(caught.value) == (
        "predict: the model needs each node's group by 'sex', and this graph has groups by 'race'. Read that "
        "attribute, or name it so (sensitive_name)."
    )


# --- PyG --------------------------------------------------------------------------------------------------------------


def data() -> Any:
    from torch_geometric.data import Data

    draw = torch.Generator().manual_seed(0)
    x = torch.randn((N, 3), generator=draw)
    return Data(
        x=x,
        edge_index=torch.randint(0, N, (2, 3 * N), generator=draw),
        y=(x[:, 0] > 0).long(),
        z=(x[:, 1] > 0).long(),
        sensitive=torch.arange(N) % 2,
        race=torch.randint(0, 2, (N,), generator=draw),
        train_mask=torch.arange(N) < 30,
        val_mask=(torch.arange(N) >= 30) & (torch.arange(N) < 45),
        test_mask=torch.arange(N) >= 45,
    )


PYG_FLIPS: dict[str, Any] = {
    "data": None,
    "sensitive": "race",
    "label": "z",
    "groups": ["f", "m"],
    "channels": ["a", "b", "c"],
    "directed": True,
    "edge_weight": np.arange(1.0, 3 * N + 1),
    "link_kind": (data().edge_index.sum(dim=0) % 2).numpy(),
}


def test_every_option_of_from_pyg_is_flipped():
    assert list(PYG_FLIPS) == list(inspect.signature(fv.from_pyg).parameters)


@pytest.mark.parametrize("name", ["links", "groups"])
def test_an_option_of_from_pyg_changes_no_score(name):
    graph = fv.from_pyg(data())
    fitted = model(name).fit(graph)
    expected = scores(fitted, graph)
    for option, value in PYG_FLIPS.items():
        try:
            found = scores(fitted, fv.from_pyg(data(), **({} if option == "data" else {option: value})))
        except fv.InputError:
            assert option in ("channels", "directed", "edge_weight", "sensitive", "groups")
            continue
        assert found == expected, option


# --- saved models -----------------------------------------------------------------------------------------------------


def test_a_saved_model_remembers_the_direction(fitted, tmp_path: Path):
    model, expected = fitted["links"]
    model.save(tmp_path)
    again = fv.load_model(tmp_path)
    assert again.facts().directed is True
    assert scores(again, fv.read_graph(*tables(), recipe=again.facts().recipe)) == expected


def test_a_model_of_0_1_0_says_nothing_of_the_direction_and_takes_both():
    folder = Path(__file__).parent / "models-of-0.1.0" / "vanilla"
    assert fv.load_model(folder).facts().directed is None
    graph = fv.read_graph(*tables(), **AS_FITTED)
    old = Facts.of(graph).model_copy(update={"directed": None})
    check_reading(graph.replace(recipe=None), old)
    other = fv.read_graph(*tables(), **AS_FITTED | {"directed": False})
    check_reading(other.replace(recipe=None), old)
