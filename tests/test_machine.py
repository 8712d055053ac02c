from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fairview import machine


@pytest.fixture(autouse=True)
def _forget():
    machine.processor.cache_clear()
    yield
    machine.processor.cache_clear()


def test_a_machine_is_its_processor_torch_s_kernels_cores_and_memory():
    found = machine.describe_machine()
    assert list(found) == ["processor", "cpu_capability", "cores", "memory_gib"]
    assert found["processor"]
    assert found["cpu_capability"] in ("DEFAULT", "AVX2", "AVX512", "NEON", "SVE256", "VSX", "Z VECTOR")
    assert found["cores"] >= 1


def test_the_processor_is_named_as_in_the_system_s_list(tmp_path, monkeypatch):
    listed = tmp_path / "cpuinfo"
    listed.write_text("processor\t: 0\nmodel name\t: Some  Make 3000 @ 2 GHz\n\nmodel name\t: Another\n")
    monkeypatch.setattr(machine, "_PROCESSORS", listed)
    assert machine.processor() == "Some Make 3000 @ 2 GHz"


def test_without_such_a_list_python_s_word_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_PROCESSORS", tmp_path / "none")
    monkeypatch.setattr(machine.sys, "platform", "other")
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    monkeypatch.setattr(machine.platform, "machine", lambda: "riscv64")
    assert machine.processor() == "riscv64"


def test_the_variable_that_chooses_torch_s_kernels_is_honoured():
    code = "from fairview.machine import cpu_capability; print(cpu_capability())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"ATEN_CPU_CAPABILITY": "default"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "DEFAULT\n"


def test_the_peak_begins_anew():
    machine.reset_peak_memory()
    before = machine.peak_memory_mb()
    block = bytearray(os.urandom(1)) * (64 * 2**20)
    assert machine.peak_memory_mb() >= before + 60
    del block
