"""What can't be explained, and is refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch import Tensor, nn

import fairview as fv
from fairview.errors import for_command_line


class Plain(nn.Module):
    """Takes no weights of links."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(channels, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x.index_add(0, edge_index[1], x[edge_index[0]]))


def refusal(model: Any, graph: Any) -> str:
    with pytest.raises(fv.InputError) as caught:
        fv.explain(model, graph)
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (fv.LogisticRegression(), "'logistic-regression' looks at no links, or at none that can be followed."),
        (fv.Constant(), "'constant' looks at no links, or at none that can be followed."),
        (fv.Vanilla(encoder="mlp", epochs=2), "the encoder 'mlp' looks at no links; gcn, gin, sage and sign do."),
        (fv.Parity(hops=0), "this 'parity' looks at no links (hops=0); contributions() has its channels."),
        (fv.Parity(head="mlp"), "'parity' with head='mlp' is no sum over links; fit it with head='linear'."),
        (fv.Parity(basis=lambda graph: graph.features), "'parity' with a basis of your own may look at links where"),
        (fv.Ensemble("parity", members=2), "an ensemble of 'parity' can't be explained; one of networks can."),
        (fv.Ensemble("vanilla", members=2, encoder="mlp"), "the encoder 'mlp' looks at no links;"),
        (fv.GroupThresholds(), "'group-thresholds' changes the scores of another model. Explain that one: it is"),
    ],
)  # fmt: skip
def test_a_model_that_can_not_be_followed_to_the_links_is_refused(model: Any, said: str, small: fv.NodeGraph) -> None:
    assert refusal(model.fit(small), small).startswith(f"explain: {said}")


def test_the_model_inside_another_can_be_explained(small: fv.NodeGraph) -> None:
    model = fv.GroupThresholds(model="vanilla", model_settings={"epochs": 3}).fit(small)
    assert fv.explain(model.model_, small).exact


def test_a_module_that_takes_no_weights_is_refused(small: fv.NodeGraph) -> None:
    model = fv.Vanilla(encoder=Plain(small.num_channels), epochs=2).fit(small)
    assert refusal(model, small) == (
        "explain: encoder: Plain takes no weights of links, so that nothing says what a link adds. Let it have "
        "forward(x, edge_index, edge_weight)."
    )


def test_a_graph_without_links_has_none_that_carries_a_gap(small: fv.NodeGraph) -> None:
    model = fv.Vanilla(epochs=2).fit(small)
    empty = small.replace(adjacency=fv.Adjacency.from_pairs([], [], num_nodes=60)[0])
    assert refusal(model, empty) == "explain: the graph has no links, so that none of them can carry a gap."
    assert refusal(fv.Constant().fit(small), empty).count("explain: ") == 2, "both problems at once"


def test_a_propagated_folder_has_no_links(propagated: Any) -> None:
    graph = propagated().sample()
    model = fv.Vanilla(epochs=2).fit(graph)
    assert refusal(model, graph) == (
        "explain: a propagated folder holds no links, only what they did to the channels; explain the model on the "
        "tables themselves."
    )
    assert "expected a NodeGraph" in refusal(model, propagated())


def test_weights_must_be_as_in_training(small: fv.NodeGraph, with_weights: Any) -> None:
    model = fv.Vanilla(epochs=2).fit(small)
    assert "fitted on links without weights" in refusal(model, with_weights(small))


@pytest.mark.parametrize("groups", [["f"], []])
def test_fewer_than_two_groups_have_no_gap(groups: list[str], small: fv.NodeGraph) -> None:
    model = fv.Vanilla(epochs=2).fit(small)
    codes = np.where(np.isin(np.array(small.groups)[small.sensitive], groups), small.sensitive, -1)
    said = "only 'f' has nodes" if groups else "none is known"
    assert refusal(model, small.replace(sensitive=codes)) == (
        f"explain: the gap is undefined: of the groups of 'group', {said}; two are needed."
    )


def test_wrong_objects_are_refused(small: fv.NodeGraph) -> None:
    assert refusal(fv.Vanilla, small).startswith("explain: the class Vanilla; expected a fitted model")
    assert refusal(fv.Vanilla(), small) == "Vanilla: not fitted yet; call fit(graph) first."
    assert refusal(fv.Vanilla(), "german").startswith("explain: 'german'; expected a NodeGraph.")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 0}, "top: 0; expected a whole number, at least 1."),
        ({"draws": 1.5}, "draws: 1.5; expected a whole number, at least 1."),
        ({"shares": 0.1}, "shares: 0.1; expected shares of the links, each above 0 and at most 1."),
        ({"shares": (0.1, 2)}, "shares: 2.0; expected shares of the links, each above 0 and at most 1."),
        ({"split": "tset"}, "no split 'tset'. Did you mean 'test'?"),
        ({"seed": -1}, "seed: -1; expected a whole number, at least 0 and below 2**64."),
    ],
)
def test_wrong_values_are_refused(given: dict[str, Any], said: str, small: fv.NodeGraph) -> None:
    model = fv.Vanilla(epochs=2).fit(small)
    with pytest.raises(fv.InputError) as caught:
        fv.explain(model, small, **given)
    assert for_command_line(caught.value).replace("--", "") == said
