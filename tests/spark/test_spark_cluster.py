"""Rows really travel: two worker processes, each with its own memory, alone or behind a master of Spark's own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairview as fv

MASTER = "local-cluster[2,1,1024]"

pytestmark = pytest.mark.slow


def tables(folder: Path) -> tuple[Path, Path]:
    draw = np.random.default_rng(4)
    nodes = {"id": [f"p{i}" for i in range(200)], "x": draw.normal(size=200), "s": draw.choice(["f", "m"], 200)}
    ends = draw.choice(nodes["id"], (2, 600))
    people, links = folder / "people.parquet", folder / "links.parquet"
    pl.DataFrame(nodes).write_parquet(people)
    pl.DataFrame({"source": ends[0], "target": ends[1]}).write_parquet(links)
    return people, links


def run(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", *words],
        capture_output=True, text=True, timeout=900, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture
def cluster(java: None, tmp_path: Path) -> Iterator[str]:
    """The URL of a standalone master with two workers, started as an administrator would; stopped at the end."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed: the tests of Spark are skipped")
    command, started = Path(pyspark.__file__).parent / "bin" / "spark-class", []

    def start(name: str, kind: str, *words: str, until: str) -> str:
        log = tmp_path / f"{name}.log"
        with log.open("w") as stream:
            line = [command, f"org.apache.spark.deploy.{kind}", "--host", "127.0.0.1", "--webui-port", "0", *words]
            started.append(
                subprocess.Popen(line, stdout=stream, stderr=stream, env=environment(), start_new_session=True)
            )
        deadline = time.monotonic() + 120
        while (said := re.search(until, log.read_text())) is None:
            assert started[-1].poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.2)
        return said[0]

    try:
        url = start("master", "master.Master", "--port", "0", until=r"spark://127\.0\.0\.1:\d+")
        for name in ("first", "second"):
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(tmp_path / name))
            start(name, "worker.Worker", *size, url, until="Successfully registered with master")
        yield url
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)


def test_two_workers_give_what_memory_gives(java, tmp_path, same_folders):
    pytest.importorskip("pyspark", reason="pyspark is not installed: the tests of Spark are skipped")
    people, links = tables(tmp_path)
    script = f"""
        import fairview as fv
        fv.propagate({str(people)!r}, {str(links)!r}, folder={str(tmp_path / "spark")!r}, sensitive="s", hops=2,
                     engine="spark", master={MASTER!r}, memory="1GB")
    """
    run("-c", textwrap.dedent(script))
    memory = fv.propagate(people, links, folder=tmp_path / "memory", sensitive="s", hops=2, engine="memory")
    same_folders(memory, fv.open_propagated(tmp_path / "spark"))


def test_a_standalone_cluster_gives_what_memory_gives(cluster, tmp_path, same_folders):
    people, links = tables(tmp_path)
    given = ["--nodes", str(people), "--edges", str(links), "--sensitive", "s", "--out", str(tmp_path / "spark")]
    run("-m", "fairview", "propagate", *given, "--engine", "spark", "--master", cluster, "--memory", "1GB")
    for name in ("first", "second"):
        assert list((tmp_path / name).glob("app-*/*")), f"the {name} worker had nothing to do"
    memory = fv.propagate(people, links, folder=tmp_path / "memory", sensitive="s", engine="memory")
    same_folders(memory, fv.open_propagated(tmp_path / "spark"))
