"""What the caller's program has set changes no result, and is as before afterwards."""

from __future__ import annotations

import hashlib
import json
import locale
import random
import runpy
import shutil
import subprocess
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
import torch
from threadpoolctl import threadpool_limits

import fairview as fv
from fairview.isolation import isolated

CONTRACT = runpy.run_path(str(Path(__file__).parent / "methods" / "test_contract.py"))
QUICK = [("fairvgnn", "gcn"), ("vanilla", "sage"), ("parity", None)]


@contextmanager
def changed(write: Callable[[Any], Any], value: Any, before: Any) -> Iterator[None]:
    write(value)
    try:
        yield
    finally:
        write(before)


@contextmanager
def seeds(seed: int) -> Iterator[None]:
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])


@contextmanager
def german_numbers() -> Iterator[None]:
    """1,50 for 1.5; built where the system does not have it."""
    before = locale.setlocale(locale.LC_ALL)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if shutil.which("localedef"):
            command = ["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE.UTF-8"]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                patch.setenv("LOCPATH", folder)
        try:
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        except locale.Error:
            pytest.skip("this system has no German locale, and can't build one")
        assert locale.format_string("%.1f", 1.5) == "1,5"
        try:
            yield
        finally:
            locale.setlocale(locale.LC_ALL, before)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor has no such mode")
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def warnings_shown() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        yield


def everything() -> AbstractContextManager[Any]:
    stack = ExitStack()
    for name in ("float64", "inference mode", "autocast", "seeds", "threads", "numpy raises", "sklearn config"):
        stack.enter_context(SURROUNDINGS[name]())
    return stack


SURROUNDINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "float64": lambda: changed(torch.set_default_dtype, torch.float64, torch.float32),
    "float16": lambda: changed(torch.set_default_dtype, torch.float16, torch.float32),
    "no grad": torch.no_grad,
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "seeds": lambda: seeds(1234),
    "threads": lambda: changed(torch.set_num_threads, 3, torch.get_num_threads()),
    "BLAS threads": lambda: threadpool_limits(3),
    "deterministic algorithms": lambda: changed(torch.use_deterministic_algorithms, True, False),
    "meta device": lambda: torch.device("meta"),
    "default device": lambda: changed(torch.set_default_device, "meta", None),
    "matmul precision": lambda: changed(torch.set_float32_matmul_precision, "medium", "highest"),
    "anomaly detection": torch.autograd.detect_anomaly,
    "denormals": flushed_denormals,
    "locale": german_numbers,
    "numpy raises": lambda: np.errstate(all="raise"),
    "sklearn config": lambda: sklearn.config_context(transform_output="pandas", assume_finite=True),
    "pandas options": lambda: pd.option_context("display.precision", 2, "compute.use_bottleneck", False),
    "warnings": warnings_shown,
    "everything": everything,
}
every_surrounding = pytest.mark.parametrize("name", SURROUNDINGS)


def results(graph: fv.NodeGraph, cases: list[tuple[str, str | None]], *, audit: bool = True) -> dict[str, str]:
    """Weights, scores and metrics of each method, and an audit."""
    found = {}
    for case in cases:
        model = CONTRACT["make"](case).fit(graph)
        scores = hashlib.sha256(model.predict_proba(graph).tobytes()).hexdigest()
        measured = json.dumps(fv.evaluate(model, graph).to_dict())
        found[f"{case}"] = f"{CONTRACT['fingerprint'](model)} {scores} {measured}"
    if audit:
        found["audit"] = json.dumps(fv.audit(graph, permutations=99).to_dict(), sort_keys=True)
    return found


def state() -> dict[str, Any]:
    """All that a caller could notice."""
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002
    return {
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        "autocast cache": torch.is_autocast_cache_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "threads": torch.get_num_threads(),
        "torch stream": torch.default_generator.get_state().numpy().tobytes(),
        "numpy stream": repr({**numpy_state, "state": {k: str(v) for k, v in numpy_state["state"].items()}}),
        "python stream": random.getstate(),
        "numpy errors": np.geterr(),
        "numpy printing": str(np.get_printoptions()),
        "sklearn": sklearn.get_config(),
        "locale": locale.setlocale(locale.LC_ALL),
        "warnings": list(warnings.filters),
        "denormals": 5e-324 * 1.0 == 0.0,
    }


@pytest.fixture(scope="module")
def graph() -> fv.NodeGraph:
    made = fv.synthetic_graph(120, groups={"f": 0.4, "m": 0.6}, average_degree=6, homophily=0.7, seed=1)
    return made.with_splits(fv.stratified_splits(made, repeats=1)[0])


@pytest.fixture(scope="module")
def expected(graph) -> dict[str, str]:
    return results(graph, QUICK, audit=False)


@every_surrounding
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_results_are_the_same_bits_and_the_caller_keeps_the_settings(name, graph, expected):
    with SURROUNDINGS[name]():
        before = state()
        found = results(graph, QUICK, audit=False)
        after = state()
    assert found == expected
    assert after == before


def test_every_method_and_the_audit_are_the_same_bits_under_all_settings_at_once(graph):
    expected = results(graph, CONTRACT["CASES"])
    with everything():
        before = state()
        found = results(graph, CONTRACT["CASES"])
        after = state()
    assert found == expected
    assert after == before


@pytest.mark.slow
@every_surrounding
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_every_method_and_the_audit_are_the_same_bits_under_each_setting(name, graph):
    expected = results(graph, CONTRACT["CASES"])
    with SURROUNDINGS[name]():
        assert results(graph, CONTRACT["CASES"]) == expected


def test_settings_are_restored_after_an_error(graph):
    with everything():
        before = state()
        with pytest.raises(fv.InputError):
            fv.Vanilla(hidden=0).fit(graph)
        with pytest.raises(ZeroDivisionError):
            fv.Vanilla(epochs=2).fit(graph, watch=lambda *_: 1 // 0)
        assert state() == before


def test_a_saved_model_is_read_alike_under_all_settings(graph, tmp_path):
    model = fv.Vanilla(epochs=2, hidden=3).fit(graph)
    model.save(tmp_path / "plain")
    with everything():
        before = state()
        loaded = fv.load_model(tmp_path / "plain")
        loaded.save(tmp_path / "again")
        scores = loaded.predict_proba(graph)
        assert state() == before
    np.testing.assert_array_equal(scores, model.predict_proba(graph))
    for name in ("model.json", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_a_number_of_threads_that_the_caller_set_does_not_reach_large_graphs(graph, monkeypatch):
    monkeypatch.setattr("fairview.methods.network_method._WIDE", 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    seen = []
    with changed(torch.set_num_threads, 3, torch.get_num_threads()):
        model = fv.Vanilla(encoder="sage", epochs=1)
        model.fit(graph, watch=lambda *_: seen.append(torch.get_num_threads()))
        assert (seen, model.thread_count(graph), torch.get_num_threads()) == ([2], 2, 3)


def test_code_of_the_users_that_draws_from_global_streams_gives_the_same_bits(graph):
    class Noisy(fv.LogisticRegression):
        def predict_proba(self, graph: fv.NodeGraph) -> Any:
            drawn = random.random() + np.random.random() + torch.rand(1).item()  # noqa: NPY002
            return super().predict_proba(graph) * 0 + drawn / 3

    model = Noisy().fit(graph)
    first = model.predict_proba(graph)
    with seeds(99):
        np.testing.assert_array_equal(model.predict_proba(graph), first)


def test_inside_one_another_each_level_restores_what_it_found():
    with isolated():
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(5)
        np.random.seed(5)  # noqa: NPY002
        before = state()
        with isolated():
            assert torch.get_default_dtype() is torch.float32
        assert state() == before
    assert torch.get_default_dtype() is torch.float32


def test_threads_inside_at_once_leave_the_settings_as_the_first_found_them():
    inside, leave = threading.Barrier(3), threading.Event()
    seen = []

    def work() -> None:
        with isolated():
            inside.wait(timeout=20)
            seen.append(torch.get_default_dtype())
            leave.wait(timeout=20)

    with changed(torch.set_default_dtype, torch.float64, torch.float32), seeds(3):
        before = state()
        crew = [threading.Thread(target=work) for _ in range(2)]
        for each in crew:
            each.start()
        inside.wait(timeout=20)
        leave.set()
        for each in crew:
            each.join(timeout=20)
        after = state()
    assert seen == [torch.float32, torch.float32]
    assert after == before
