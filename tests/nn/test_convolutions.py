"""The layers have PyG's names, PyG's first weights to the last bit, and PyG's outputs; PyG is imported when needed."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

from fairview.nn.convolutions import GCNLayer, GINLayer, SAGELayer

EDGES = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])


def block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs))


PAIRS = {
    "gcn": (lambda i, o: GCNLayer(i, o), lambda i, o: GCNConv(i, o, normalize=False, add_self_loops=False)),
    "sage": (
        lambda i, o: SAGELayer(i, o, aggregation="mean"),
        lambda i, o: SAGEConv(i, o, aggr="mean", normalize=True),
    ),
    "gin": (lambda i, o: GINLayer(block(i, o), eps=0.5), lambda i, o: GINConv(block(i, o), eps=0.5)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(("seed", "inputs", "outputs"), [(0, 3, 2), (1, 27, 16), (2, 1, 5)])
def test_names_first_weights_and_outputs_are_pygs(name, seed, inputs, outputs):
    ours, theirs = PAIRS[name]
    torch.manual_seed(seed)
    layer = ours(inputs, outputs)
    after = torch.rand(1)
    torch.manual_seed(seed)
    convolution = theirs(inputs, outputs)
    assert torch.equal(after, torch.rand(1)), "as many random numbers are drawn"
    assert set(layer.state_dict()) == set(convolution.state_dict())
    for key, value in convolution.state_dict().items():
        assert torch.equal(layer.state_dict()[key], value), key
    x = torch.rand(5, inputs)
    before = torch.random.get_rng_state()
    output = layer(x, EDGES)
    assert torch.equal(torch.random.get_rng_state(), before), "passing messages draws nothing"
    assert torch.equal(output, convolution(x, EDGES))
    for key, value in convolution.state_dict().items():  # BatchNorm's statistics move along
        assert torch.equal(layer.state_dict()[key], value), key
    output.square().sum().backward()
    convolution(x, EDGES)
    copied = copy.deepcopy(layer)
    assert torch.equal(copied.eval()(x, EDGES), layer.eval()(x, EDGES))
    assert all(parameter.grad is not None for parameter in layer.parameters())


def test_predicting_on_the_collapsed_path_does_not_import_pyg():
    code = (
        "import sys, fairview as fv; g = fv.load_dataset('german'); "
        "m = fv.FairVGNN(epochs=1).fit(g); m.predict_proba(g); "
        "assert not any(name.startswith(('torch_geometric', 'sklearn')) for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
