from __future__ import annotations

import pytest

import fairview as fv


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scaling": "min-max"}, "scaling: 'min-max'; expected 'none', 'minmax', 'standard'. Did you mean 'minmax'?"),
        ({"missing": "ignore"}, "missing: 'ignore'; expected 'error', 'mean', 'drop', 'indicator'."),
        ({"scale_on": "test"}, "scale_on: 'test'; expected 'all', 'train'."),
        ({"features": "age"}, "features: expected a list of texts, got the text 'age'; write ['age']."),
        ({"drop": "age"}, "drop: expected a list of texts, got the text 'age'; write ['age']."),
        ({"categorical": "age"}, "categorical: expected a list of texts, got the text 'age'; write ['age']."),
        ({"unscaled": "age"}, "unscaled: expected a list of texts, got the text 'age'; write ['age']."),
        ({"missing_values": "NA"}, "missing_values: expected a list of texts, got the text 'NA'; write ['NA']."),
        ({"classes": "no"}, "classes: expected the names of the negative and the positive class, got 'no'."),
        (
            {"edges": None, "similarity": "threshold"},
            "similarity: expected NearestNeighbours or SimilarityThreshold, got str.",
        ),
        ({"recipe": {"id": "x"}}, "recipe: expected the `recipe` of another graph, got dict."),
        ({"split": "sex", "split_seed": 1}, None),
        ({"scale_on": "train"}, "scaling on the train nodes needs a split: pass split or split_seed=0."),
        ({"similarity": fv.NearestNeighbours()}, "similarity: the edges are given; leave one of the two out."),
        (
            {"edges": None, "similarity_with_sensitive": True},
            "similarity_with_sensitive: the sensitive column is no feature; pass sensitive_as_feature=True too.",
        ),
        ({"unscaled": ["aeg"]}, "nodes.csv: no column 'aeg'. Did you mean 'age'?"),
        ({"unscaled": ["sex, age"]}, "nodes.csv: no column 'sex, age'. These are 2 columns; name each by itself."),
        ({"label": 3}, "label: 3; expected a text."),
        ({"sensitive": 3}, "sensitive: 3; expected the name of a column, or a list of several."),
        ({"sensitive": []}, "sensitive: []; expected the name of a column, or a list of several."),
        ({"edge_weight": 1.5}, "edge_weight: 1.5; expected a text."),
        ({"encoding": None}, "encoding: None; expected a text."),
        ({"name": b"x"}, "name: b'x'; expected a text."),
        ({"categorical": None}, "categorical: None; expected a list of texts."),
        ({"categorical": 7}, "categorical: 7; expected a list of texts."),
        ({"missing_values": [-9]}, "missing_values: [-9]; expected a list of texts."),
        ({"missing_values": -9}, "missing_values: -9; expected a list of texts."),
        ({"drop": {"age": 1}}, "drop: {'age': 1}; expected a list of texts."),
        ({"scaling": ["none"]}, "scaling: ['none']; expected 'none', 'minmax', 'standard'. Did you mean 'none'?"),
        ({"directed": "yes"}, "directed: 'yes'; expected True or False."),
        ({"drop_unknown": 1}, "drop_unknown: 1; expected True or False."),
        ({"groups": ["f", "m"]}, "groups: ['f', 'm']; expected a dictionary from values to the names of their groups."),
        ({"classes": 2}, "classes: expected the names of the negative and the positive class, got 2."),
    ],
)
def test_settings_that_are_none_or_would_be_ignored(refusal, options, message):
    found = refusal(**options)
    assert found == message or (message is None and "split: either the column 'sex' (split) or a drawn one" in found)


def test_sensitive_as_feature_without_a_sensitive_column(refusal):
    assert refusal(sensitive=None, sensitive_as_feature=True, drop=["sex"]) == (
        "sensitive_as_feature: there is no sensitive column; name one with sensitive."
    )


@pytest.mark.parametrize(
    "options",
    [
        {"label": "ok"},
        {"sensitive": "sex"},
        {"id": "id"},
        {"positive": "1"},
        {"features": ["age"]},
        {"drop": ["age"]},
        {"categorical": ["age"]},
        {"scaling": "minmax"},
        {"missing": "mean"},
        {"missing_values": ["NA"]},
        {"sensitive_as_feature": True},
        {"similarity": fv.NearestNeighbours()},
    ],
)
def test_a_recipe_leaves_nothing_to_decide(read, refusal, options):
    (name,) = options
    assert refusal(recipe=read().recipe, **options) == (
        f"recipe: it decides on '{name}' already; leave these options out."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sensitive": "ok", "drop": ["sex"]}, "column 'ok' can't be both the label and the sensitive attribute."),
        ({"label": "id", "positive": "1", "drop": ["ok"]}, "column 'id' can't be both the id and the label."),
        ({"features": ["ok", "age"]}, "column 'ok' is the label; it can't be a feature."),
        (
            {"features": ["sex", "age"]},
            "column 'sex' is the sensitive attribute; it can't be a feature. Pass sensitive_as_feature=True.",
        ),
        ({"features": ["age"], "drop": ["age"]}, "column 'age' is both chosen and dropped."),
        ({"drop": ["sex"], "sensitive_as_feature": True}, "column 'sex' is both chosen and dropped."),
        ({"categorical": ["ok"]}, "column 'ok' can't be one-hot encoded: it is the label."),
        (
            {"categorical": ["age"], "drop": ["age"]},
            "column 'age' can't be one-hot encoded: it is not among the features.",
        ),
        ({"drop": ["age"]}, "no feature columns are left (columns: id, age, sex, ok)."),
        ({"features": []}, "no feature columns are left (columns: id, age, sex, ok)."),
    ],
)
def test_columns_with_two_roles_or_none(refusal, options, message):
    assert refusal(**options) == f"nodes.csv: {message}"
