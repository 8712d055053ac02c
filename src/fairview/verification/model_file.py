"""Do run.json, model.json, history.jsonl and the graph say the same of a model?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairview.data.graph import NodeGraph
from fairview.data.tables.recipe import Recipe
from fairview.errors import some
from fairview.files import read_regular
from fairview.methods.contract import Facts
from fairview.methods.estimator import Estimator
from fairview.methods.model_files import checked
from fairview.methods.network_method import NetworkMethod
from fairview.runs.finished import read_record

_BOTH_SAY = ("method", "group_at_prediction", "threshold")
_CLOSE = 1e-5
"""What a model says on another processor differs by less."""
_ABSENT = object()


def against_record(folder: Path, model: Estimator) -> Iterator[str]:
    """Where `run.json` contradicts the model file, the model or the history."""
    record = read_record(folder)
    document = checked(read_regular(folder / "model.json"), folder / "model.json")
    told, known = _of_record(record), _of_model(document)
    of_first_version = document["format"] == 1  # which wrote less
    wrong = []
    for name in told | known:
        one, other = told.get(name, _ABSENT), known.get(name, _ABSENT)
        lacking = of_first_version and (one is _ABSENT or other is _ABSENT)
        if one != other and not lacking and not _is_module(other):
            wrong.append(f"'{name}'")
    if wrong:
        yield f"run.json: {some(wrong)}: not what model.json says."
    kept = record.get("keep_probability")
    if kept is not None and isinstance(model, NetworkMethod) and not _close(kept, model.keep_probability_):
        yield "run.json: 'keep_probability' is not what the model gives."
    if not _same_kinds(record.get("link_kinds") or {}, model):
        yield "run.json: 'link_kinds' is not what the model gives."
    lines = read_regular(folder / "history.jsonl").splitlines()
    epochs = [json.loads(line)["epoch"] for line in lines if line.strip()]
    if record.get("epochs") != len(epochs):
        yield f"run.json: 'epochs' is {record.get('epochs')}; history.jsonl has {len(epochs)}."
    if epochs and record.get("best_epoch") not in (None, *epochs):
        yield f"run.json: 'best_epoch' is {record['best_epoch']}, which history.jsonl does not have."


def _of_record(record: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: record[name] for name in (*_BOTH_SAY, "seed") if name in record}
    told |= {f"parameters: {name}": value for name, value in dict(record.get("parameters", {})).items()}
    return told | {"data: sha256": record["data"]["sha256"]}


def _of_model(document: Mapping[str, Any]) -> dict[str, Any]:
    parameters = document["parameters"]
    known = {name: document[name] for name in _BOTH_SAY if name in document}
    known |= {f"parameters: {name}": value for name, value in parameters.items()}
    return known | {"seed": parameters.get("seed"), "data: sha256": document["facts"]["graph_sha256"]}


def _is_module(value: Any) -> bool:
    """Code of the user's own, which `run.json` names and `model.json` does not."""
    return isinstance(value, dict) and value.get("foreign") is True


def _close(told: Any, again: Mapping[str, float]) -> bool:
    same_names = isinstance(told, dict) and told.keys() == again.keys()
    return same_names and np.allclose(list(told.values()), list(again.values()), rtol=0, atol=_CLOSE)


def _same_kinds(told: Mapping[str, Any], model: Estimator) -> bool:
    weights: Mapping[str, float] = getattr(model, "link_weight_", {})
    kept: Mapping[str, float] = getattr(model, "link_keep_probability_", {})
    both = (("weight", weights), ("keep_probability", kept))
    return all(_close({kind: each.get(name) for kind, each in told.items()}, values) for name, values in both)


def against_graph(model: Estimator, graph: NodeGraph) -> Iterator[str]:
    """Where the model's facts are not those of its graph; what a model of version 0.1.0 does not say is passed over."""
    told = model.facts()
    again = (model.facts_of if isinstance(model, NetworkMethod) else Facts.of)(graph, told.channels)
    for name in Facts.model_fields:
        one, other = getattr(told, name), getattr(again, name)
        if isinstance(one, Recipe) and isinstance(other, Recipe):
            parts = [part for part in Recipe.model_fields if getattr(one, part) not in (None, getattr(other, part))]
            yield from (f"model.json: '{part}' of its recipe is not that of the graph." for part in parts)
        elif name != "recipe" and one not in (None, other):
            yield f"model.json: '{name}' is not that of the graph."
