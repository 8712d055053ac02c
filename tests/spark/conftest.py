"""One Spark session for all tests of a process, and the comparison of two propagated folders."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairview as fv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyG's import is not ours to judge
    import torch_geometric.nn  # noqa: F401

MASTER = "local[2]"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs them all (`--dist loadgroup`): starting Spark takes longer than most of them."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def java() -> None:
    if shutil.which("java") is None:
        pytest.skip("no Java here: the tests of Spark are skipped")


@pytest.fixture(scope="session")
def spark(java: None) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: the tests of Spark are skipped")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # compiling and replanning take longer than a thousand rows
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = sql.SparkSession.builder.master(MASTER).appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def assert_same(first: fv.Propagated, second: fv.Propagated) -> None:
    """The same nodes in the same order, the same counts and notes, and numbers that differ by less than 1e-6."""
    one, other = first.facts, second.facts
    close = {"moments", "recipe"}
    apart = {"engine", "parts", "versions", "inputs"}
    for name in set(type(one).model_fields) - close - apart:
        assert getattr(one, name) == getattr(other, name), name
    assert one.recipe.model_copy(update={"features": None}) == other.recipe.model_copy(update={"features": None})
    kinds = {"features": ("columns", "missing", "indicators")}
    for name in kinds["features"]:
        assert getattr(one.recipe.features, name) == getattr(other.recipe.features, name)
    assert [part.rows for part in one.parts] == [part.rows for part in other.parts]
    for left, right in zip(first.frames(), second.frames(), strict=True):
        assert left.schema == right.schema
        reals = [name for name, dtype in left.schema.items() if dtype == pl.Float32]
        assert left.drop(reals).equals(right.drop(reals))
        if reals:
            np.testing.assert_allclose(
                left.select(reals).to_numpy(), right.select(reals).to_numpy(), rtol=1e-6, atol=1e-6
            )


@pytest.fixture
def same_folders() -> Callable[[fv.Propagated, fv.Propagated], None]:
    return assert_same


@pytest.fixture
def both_engines(spark: Any, tmp_path: Path) -> Callable[..., tuple[fv.Propagated, fv.Propagated]]:
    """Propagate two frames, written as Parquet, in memory and in Spark; both must agree."""

    def run(nodes: pl.DataFrame, edges: pl.DataFrame, **settings: Any) -> tuple[fv.Propagated, fv.Propagated]:
        people, links = tmp_path / "people.parquet", tmp_path / "links.parquet"
        nodes.write_parquet(people)
        edges.write_parquet(links)
        made = [
            fv.propagate(people, links, folder=tmp_path / engine, engine=engine, **settings)
            for engine in ("memory", "spark")
        ]
        assert_same(*made)
        made[1].check()
        return made[0], made[1]

    return run
