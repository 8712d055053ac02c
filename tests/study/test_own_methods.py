"""Methods, instances and encoders of one's own in a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import fairview as fv
from fairview.errors import InputError
from fairview.methods.encoder_spec import resolve_encoder
from fairview.methods.registry import METHODS, resolve_method
from fairview.study.comparison import compare
from fairview.study.plan import plan

PLUGIN = Path(__file__).parents[1] / "plugin"
QUICK = {"vanilla": {"epochs": 2, "hidden": 3}}


class Share:
    """The least that a method needs: no base class, no type hints."""

    def __init__(self, plus=0.0, seed=0, threads=4, device="tpu"):
        self.plus, self.seed, self.threads, self.device = plus, seed, threads, device

    def fit(self, graph):
        assert (self.threads, self.device) == (1, "cpu")
        self.share = graph.labels[graph.split("train") & graph.labelled].mean() + self.plus + self.seed / 1000

    def predict_proba(self, graph):
        positive = np.clip(self.share + 0.1 * np.tanh(graph.features[:, 0]), 0, 1)
        return np.stack([1 - positive, positive], axis=1)


class Silent(Share):
    def __init__(self, plus=0.0):
        super().__init__()
        del self.plus


class Narrow(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.linear = nn.Linear(channels, 2)

    def forward(self, x, edge_index):
        return self.linear(x)


def test_a_class_needs_fit_and_predict_proba_alone(graph, tmp_path):
    found = compare(graph, methods=[Share], plain=False, seeds=2, folder=tmp_path, changes={Share: {"plus": 0.1}})
    row = found.summary["rows"][1]
    assert (row["label"], row["runs"], row["settings"]) == ("Share", 2, {"plus": 0.1})
    again = compare(graph, methods=Share, plain=False, seeds=2, folder=tmp_path, changes={"Share": {"plus": 0.1}})
    assert again.summary == found.summary


def test_instances_keep_their_settings_and_are_told_apart(graph, tmp_path):
    methods = [Share(), Share(plus=0.2), fv.Vanilla(encoder="mlp", epochs=2, hidden=3)]
    found = compare(graph, methods=methods, encoders=["gcn"], seeds=1, folder=tmp_path, plain=False, workers=1)
    labels = [row["label"] for row in found.summary["rows"]]
    assert labels == ["Majority answer", "Share (plus=0.0)", "Share (plus=0.2)", "Plain model · MLP"]
    assert found.summary["rows"][3]["settings"]["epochs"] == 2
    assert found.summary["rows"][3]["settings"]["selection"] == "score", "one rule for all"
    assert len({row["seconds"] for row in found.to_dict()["rows"]}) == 4, "each has its costs"


def test_an_instance_that_hides_its_settings_is_refused():
    with pytest.raises(InputError) as caught:
        plan([Silent()], ["gcn"])
    assert str(caught.value) == (
        "method Silent: can't tell the settings of this instance (its parameters 'plus' are no attributes). Derive it "
        "from fv.Estimator or scikit-learn's BaseEstimator, or pass the class."
    )
    assert plan([Silent], ["gcn"])[1].label == "Silent"


def test_what_only_this_process_knows_runs_in_it_with_a_note(graph, tmp_path):
    class Local(Share):
        """Inside a function."""

    found = compare(graph, methods=[Local], plain=False, seeds=1, folder=tmp_path, workers=2)
    assert found.summary["notes"][0].startswith("Local is known to this process alone: all trials ran in it")
    assert "<locals>.Local" in found.summary["rows"][1]["method"]


def test_the_code_of_a_method_is_part_of_a_study(graph, tmp_path):
    compare(graph, methods=[Share], plain=False, seeds=1, folder=tmp_path)
    held = json.loads((tmp_path / "study.json").read_text())
    held["rows"][1]["code"] = "another"
    (tmp_path / "study.json").write_text(json.dumps(held))
    with pytest.raises(InputError, match=r"the code of '\S+:Share' has changed\. A comparison can be extended, not"):
        compare(graph, methods=[Share], plain=False, seeds=1, folder=tmp_path)


def test_a_method_of_another_package_works_unregistered(graph, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(PLUGIN)
    found = compare(graph, methods=["outside:Prior"], plain=False, seeds=1, folder=tmp_path, workers=2)
    assert [row["method"] for row in found.summary["rows"]] == ["constant", "outside:Prior"]
    assert "prior" not in METHODS


# --- encoders ---------------------------------------------------------------------------------------------------------


def test_a_factory_a_class_and_a_module_are_encoders(graph, tmp_path):
    torch.manual_seed(0)
    module = Narrow(graph.num_channels)
    encoders = [Narrow, lambda channels: Narrow(channels), module]
    found = compare(graph, methods=[], encoders=encoders, seeds=2, folder=tmp_path, changes=QUICK)
    rows = found.summary["rows"][1:]
    assert [row["label"] for row in rows] == [
        "Plain model · Narrow", "Plain model · <lambda>", "Plain model · Narrow",
    ]  # fmt: skip
    assert len({row["encoder"] for row in rows}) == 3
    assert rows[0]["mean"] == rows[1]["mean"], "the weights depend on the seed alone"
    assert rows[0]["mean"] != rows[2]["mean"]


def test_fairvgnn_takes_an_encoder_of_one_s_own_without_the_sensitive_channel(graph, tmp_path):
    hidden = graph.replace(sensitive_channels=(graph.channels[0],))
    changes = {"fairvgnn": {"epochs": 2, "views": 2, "sensitive_channels": False}}
    found = compare(hidden, encoders=Narrow, seeds=1, folder=tmp_path, changes=changes, plain=False)
    assert found.summary["rows"][1]["failed"] == 0, found.summary["notes"]


def test_weights_of_a_factory_depend_on_the_seed():
    first, again, other = (resolve_encoder(Narrow, 3, seed=seed).linear.weight for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert resolve_encoder("sage", 3) == "sage"


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("gcnn", "no encoder 'gcnn'. Did you mean 'gcn'?"),
        (3, "encoder 3: expected one of mlp, gcn, gin, sage, sign, 'package.module:factory', a function or class that "
         "takes the number of channels, or a torch.nn.Module."),
        (len, None),
        ("math:pi", "encoder 'math:pi': is a float; expected a function or a module class that takes the number of "
         "channels."),
        (str, "encoder builtins:str: returned a str for 3 channels; expected a torch.nn.Module with forward(x, "
         "edge_index)."),
    ],
)  # fmt: skip
def test_what_is_no_encoder_is_refused(encoder, message):
    with pytest.raises((InputError, TypeError)) as caught:
        resolve_encoder(encoder, 3)
    if message is not None:
        assert str(caught.value) == message


# --- the processor ----------------------------------------------------------------------------------------------------


@pytest.fixture
def processors(monkeypatch):
    def use(name: str) -> None:
        monkeypatch.setattr("fairview.study.extension.processor", lambda: name)
        monkeypatch.setattr("fairview.study.extension.cpu_capability", lambda: "AVX2")

    return use


def notes(graph, folder, **options) -> list[str]:
    return list(compare(graph, methods=[], plain=False, seeds=1, folder=folder, **options).summary["notes"])


def test_a_folder_of_another_processor_is_refused_or_says_so(graph, tmp_path, processors):
    processors("Make 1")
    before = notes(graph, tmp_path)
    held = json.loads((tmp_path / "study.json").read_text())
    assert held["machines"] == [{"processor": "Make 1", "cpu_capability": "AVX2"}]
    assert notes(graph, tmp_path) == before
    processors("Make 2")
    with pytest.raises(InputError) as caught:
        notes(graph, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: was computed on Make 1, torch's AVX2 kernels; this is Make 2, torch's AVX2 kernels. Results "
        "depend on the processor, so their numbers don't mix: use another folder, or pass mixed_machines=True."
    )
    mixed = notes(graph, tmp_path, mixed_machines=True)
    assert mixed[0] == (
        "The trials ran on different processors (Make 1, torch's AVX2 kernels; Make 2, torch's AVX2 kernels), on which "
        "the same run gives other numbers."
    )
    processors("Make 1")
    assert notes(graph, tmp_path) == mixed, "it stays mixed"


def test_a_folder_of_0_1_0_goes_on_with_a_note_and_its_constant_is_replaced(graph, tmp_path):
    notes(graph, tmp_path)
    held = json.loads((tmp_path / "study.json").read_text())
    del held["machines"]
    held["rows"][0]["settings"] = {}
    (tmp_path / "study.json").write_text(json.dumps(held))
    assert notes(graph, tmp_path)[0] == (
        "It was begun by a version that did not record the processor: its rows may mix results of several."
    )
    assert json.loads((tmp_path / "summary.json").read_text())["rows"][0]["settings"] == {"answer": "majority"}


def test_the_majority_answer_takes_no_rank(graph, tmp_path):
    found = compare(graph, methods=[Share], plain=False, seeds=1, folder=tmp_path)
    first, second = found.summary["rows"]
    assert first["rank"] == {"utility": None, "fairness": None, "average": None}
    assert first["unranked"] == "It gives everybody the same answer: a yardstick, not a competitor."
    assert not first["pareto"]
    assert (second["rank"]["average"], second["unranked"]) == (1.0, None)


def test_a_method_is_resolved_to_its_entry_whatever_it_is_called_by():
    for given in ("vanilla", "fairview.methods.vanilla:Vanilla", fv.Vanilla, fv.Vanilla(epochs=3)):
        assert resolve_method(given) is METHODS["vanilla"]

    class Local(Share):
        """Inside a function, where no other process can find it."""

    assert not resolve_method(Local).importable


def test_a_split_that_was_drawn_is_said_to_be(graph, tmp_path):
    drawn = "The graph has no split: a stratified one was drawn with seed 0."
    assert notes(graph.with_splits({}), tmp_path / "a")[0] == drawn
    assert drawn not in notes(graph, tmp_path / "b")
