"""No second device is at hand, but one without numbers: a tensor that was left in main memory can't meet it."""

import numpy as np
import pytest
import torch
from torch import Tensor

import fairview as fv
from fairview.errors import InputError
from fairview.methods.fairvgnn import FairVGNNNetwork
from fairview.methods.vanilla import VanillaNetwork
from fairview.nn import sparse


@pytest.fixture
def no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """On `meta` nothing can be read, and compressed rows have no product: both are stood in for."""

    def product(matrix: Tensor, dense: Tensor, base: Tensor | None = None) -> Tensor:
        assert matrix.device == dense.device == (dense if base is None else base).device
        return dense.new_empty(matrix.shape[0], dense.shape[1])

    monkeypatch.setattr(Tensor, "item", lambda self: 0.5)
    monkeypatch.setattr(sparse, "_times", product)


def test_tensors_of_two_devices_do_not_meet_unnoticed() -> None:
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(2, device="meta") + torch.ones(2)


@pytest.mark.parametrize("path", ["auto", "general"])
@pytest.mark.parametrize("encoder", ["mlp", "gcn", "gin", "sage"])
@pytest.mark.parametrize("sample", [None, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("no_numbers")
def test_an_epoch_of_fairvgnn_runs_on_another_device(encoder: str, path: str, sample: int | None) -> None:
    graph = fv.load_dataset("german")
    model = fv.FairVGNN(encoder=encoder, path=path, adversary_sample=sample, balanced_discriminator=True, device="meta")
    network = FairVGNNNetwork(model, graph)
    network.epoch()
    tensors = [*network.encoder.parameters(), *network.mask.parameters(), network.clamp_mask, network.evaluation_masks]
    assert {tensor.device.type for tensor in tensors} == {"meta"}


@pytest.mark.parametrize("encoder", ["mlp", "gcn", "gin", "sage"])
@pytest.mark.usefixtures("no_numbers")
def test_an_epoch_of_the_plain_model_runs_on_another_device(encoder: str) -> None:
    network = VanillaNetwork(fv.Vanilla(encoder=encoder, device="meta"), fv.load_dataset("german"))
    network.epoch()
    assert next(network.encoder.parameters()).device.type == "meta"


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"^device: 'gpu7' can't be used here \(.*\)\. Use 'cpu', or another one\.$"):
        fv.Vanilla(device="gpu7").fit(fv.load_dataset("german"))


def test_a_model_loads_wherever_it_was_trained(tmp_path: object) -> None:
    graph = fv.load_dataset("german")
    model = fv.Vanilla(epochs=2).fit(graph)
    before = model.predict_proba(graph)
    model.device = "cuda:3"  # as if it had been trained there
    model.save(str(tmp_path))
    loaded = fv.load_model(str(tmp_path))
    assert loaded.device == "cpu"
    np.testing.assert_array_equal(loaded.predict_proba(graph), before)
