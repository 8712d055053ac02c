"""Rows really travel: two worker processes, each with its own memory."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import polars as pl
import pytest

import fairview as fv

MASTER = "local-cluster[2,1,1024]"


@pytest.mark.slow
def test_two_workers_give_what_memory_gives(java, tmp_path, same_folders):
    pytest.importorskip("pyspark", reason="pyspark is not installed: the tests of Spark are skipped")
    draw = np.random.default_rng(4)
    nodes = {"id": [f"p{i}" for i in range(200)], "x": draw.normal(size=200), "s": draw.choice(["f", "m"], 200)}
    ends = draw.choice(nodes["id"], (2, 600))
    people, links = tmp_path / "people.parquet", tmp_path / "links.parquet"
    pl.DataFrame(nodes).write_parquet(people)
    pl.DataFrame({"source": ends[0], "target": ends[1]}).write_parquet(links)
    script = f"""
        import fairview as fv
        fv.propagate({str(people)!r}, {str(links)!r}, folder={str(tmp_path / "spark")!r}, sensitive="s", hops=2,
                     engine="spark", master={MASTER!r}, memory="1GB")
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-W", "error::FutureWarning", "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=500, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    memory = fv.propagate(people, links, folder=tmp_path / "memory", sensitive="s", hops=2, engine="memory")
    same_folders(memory, fv.open_propagated(tmp_path / "spark"))
