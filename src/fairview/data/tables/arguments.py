"""Can this be asked of `read_graph`? Arguments that are unknown, contradictory or without effect are rejected."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, ParamSpec, TypeGuard, TypeVar, get_args

import numpy as np

from fairview.arguments import shortened
from fairview.data.similarity.rules import NearestNeighbours, SimilarityThreshold
from fairview.data.tables.links import words
from fairview.data.tables.recipe import Missing, Recipe
from fairview.data.tables.scaling import ScalingKind
from fairview.errors import Problems, did_you_mean, option, quoted, shown
from fairview.offered import offering

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

_ALLOWED = {"scaling": get_args(ScalingKind), "scale_on": ("all", "train"), "missing": get_args(Missing)}
_COLUMNS = ("label", "id", "source", "target", "split", "edge_weight", "link_kind")
_NAMES = (*_COLUMNS, "separator", "encoding", "name")
_LISTS = ("features", "drop", "categorical", "unscaled", "missing_values", "unlabelled")
_SWITCHES = ("sensitive_as_feature", "similarity_with_sensitive", "directed", "drop_unknown")
_DECIDED = {  # by a recipe -> what it is when the caller left it alone
    **dict.fromkeys(("label", "sensitive", "id", "positive", "classes", "groups", "features", "similarity")),
    **dict.fromkeys(("drop", "categorical", "unscaled", "missing_values", "unlabelled"), ()),
    **dict.fromkeys(("sensitive_as_feature", "similarity_with_sensitive"), False),
    "scaling": "standard",
    "scale_on": "all",
    "missing": "error",
}

_CONTEXT = ("context", "context_edges")


def advising_by_recipe(read: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """A function with a parameter `recipe` whose errors name no parameter that the recipe decides on."""

    @functools.wraps(read)
    def run(*given: _Given.args, **named: _Given.kwargs) -> _Returned:
        recipe = named.get("recipe")
        refused = {*_CONTEXT} if recipe is None else {*_DECIDED}
        if isinstance(recipe, Recipe) and recipe.directed is not None:
            refused.add("directed")
        with offering(lambda name: name not in refused):
            return read(*given, **named)

    return run


def check_settings(arguments: dict[str, Any], problems: Problems) -> None:
    """Raise what makes it pointless to look at the data, and add what is a problem beside those of the data."""
    _check_kinds(arguments)
    if arguments["split"] is not None and arguments["split_seed"] is not None:
        column, seed = option("split"), option("split_seed")
        problems.add(f"split: either the column '{arguments['split']}' ({column}) or a drawn one ({seed}), not both.")
    if arguments["unlabelled"] and arguments["label"] is None and arguments["recipe"] is None:
        problems.add(f"unlabelled: there is no label column; name one with {option('label')}.")
    if (recipe := arguments["recipe"]) is not None:
        if arguments["edges"] is not None and recipe.similarity is not None:
            problems.add(
                f"edges: the model's nodes were linked by similarity ({words(recipe.similarity)}); leave the edges "
                "out, or train again with edges."
            )
        given = [name for name, usual in _DECIDED.items() if _is_given(arguments[name], usual)]
        if given:
            problems.add(f"recipe: it decides on {quoted(given, limit=20)} already; leave these options out.")
        _check_context(arguments, problems)
        for name, what in (("edge_weight", "weights"), ("link_kind", "kinds")):
            if arguments[name] not in (None, known := getattr(recipe, name)):
                problems.add(_another_column(name, what, arguments[name], known))
        return
    if any(arguments[name] is not None for name in _CONTEXT):
        problems.add("context: known nodes stand around new ones, which need the recipe of the model: pass recipe.")
    for name in ("edge_weight", "link_kind"):
        if arguments[name] is not None and arguments["edges"] is None:
            problems.add(f"{option(name)}: there is no table of edges with the column; pass {option('edges')}.")
    if arguments["scale_on"] == "train" and arguments["split"] is None and arguments["split_seed"] is None:
        problems.add(f"scaling on the train nodes needs a split: pass {option('split')} or {option('split_seed', 0)}.")
    if arguments["sensitive_as_feature"] and arguments["sensitive"] is None:
        problems.add(f"sensitive_as_feature: there is no sensitive column; name one with {option('sensitive')}.")
    if arguments["edges"] is not None and arguments["similarity"] is not None:
        problems.add("similarity: the edges are given; leave one of the two out.")
    if arguments["similarity_with_sensitive"] and not arguments["sensitive_as_feature"]:
        feature = option("sensitive_as_feature", True)
        problems.add(f"similarity_with_sensitive: the sensitive column is no feature; pass {feature} too.")


def _check_context(arguments: dict[str, Any], problems: Problems) -> None:
    if arguments["context"] is None:
        if arguments["context_edges"] is not None:
            problems.add(f"context_edges: there are no known nodes; pass their table with {option('context')}.")
        return
    if arguments["context_edges"] is not None and arguments["edges"] is None:
        problems.add(f"context_edges: nothing links the new nodes; pass their edges with {option('edges')}.")
    if arguments["split"] is not None or arguments["split_seed"] is not None:
        problems.add("context: the graph has the split 'new' already; leave the other split out.")


def _check_kinds(arguments: dict[str, Any]) -> None:
    problems = Problems()
    for name, allowed in _ALLOWED.items():
        if not isinstance(value := arguments[name], str) or value not in allowed:
            problems.add(f"{name}: {shortened(value)}; expected {quoted(allowed)}.{_meant(value, allowed)}")
    for name in _NAMES:
        if not isinstance(value := arguments[name], str) and (value is not None or name == "encoding"):
            problems.add(f"{name}: {shortened(value)}; expected a text.")
    given = arguments["sensitive"]
    if not (given is None or isinstance(given, str) or (_is_list_of_texts(given) and len(given))):
        problems.add(f"sensitive: {shortened(given)}; expected the name of a column, or a list of several.")
    for name in _LISTS:
        if isinstance(value := arguments[name], str):
            text = shown(value)
            problems.add(f"{name}: expected a list of texts, got the text '{text}'; write ['{text}'].")
        elif not (value is None and name == "features") and not _is_list_of_texts(value):
            problems.add(f"{name}: {shortened(value)}; expected a list of texts.")
    for name in _SWITCHES:
        if not isinstance(value := arguments[name], bool | np.bool_) and not (value is None and name == "directed"):
            problems.add(f"{name}: {shortened(value)}; expected True or False.")
    classes, groups = arguments["classes"], arguments["groups"]
    if classes is not None and not (_is_list_of_texts(classes) and len(classes) == 2):
        problems.add(f"classes: expected the names of the negative and the positive class, got {shortened(classes)}.")
    if groups is not None and not isinstance(groups, Mapping):
        expected = "a dictionary from values to the names of their groups"
        problems.add(f"groups: {shortened(groups)}; expected {expected}.")
    elif groups is not None and _is_list_of_texts(given) and len(given) > 1 and not _by_column(groups):
        problems.add("groups: there are several sensitive columns; expected their names by column.")
    rule, recipe = arguments["similarity"], arguments["recipe"]
    if rule is not None and not isinstance(rule, (NearestNeighbours, SimilarityThreshold)):
        problems.add(f"similarity: expected NearestNeighbours or SimilarityThreshold, got {type(rule).__name__}.")
    if recipe is not None and not isinstance(recipe, Recipe):
        problems.add(f"recipe: expected the `recipe` of another graph, got {type(recipe).__name__}.")
    problems.raise_if_any()


def _is_list_of_texts(value: object) -> TypeGuard[Collection[str]]:
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        return False
    return all(isinstance(each, str) for each in value)


def _by_column(groups: Mapping[str, Any]) -> bool:
    return all(isinstance(names, Mapping) for names in groups.values())


def _another_column(name: str, what: str, given: str, known: str | None) -> str:
    fitted = f"without {what}" if known is None else f"with the {what} in '{known}'"
    return f"{name}: '{given}', but the model's links were read {fitted}. Leave {option(name)} out."


def _is_given(value: Any, usual: object) -> bool:
    if usual is None:
        return value is not None
    return bool(len(value) if usual == () else value != usual)


def _meant(value: object, allowed: tuple[str, ...]) -> str:
    hint = did_you_mean(str(value), allowed)
    return hint if "Did you mean" in hint else ""
