from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import fairview as fv
from fairview.manifest import file_sha256, sealed


@pytest.fixture
def folder(own_tables, tmp_path, monkeypatch) -> Path:
    """Three parts."""
    monkeypatch.setattr("fairview.propagation.engines.memory.BATCH", 600)
    return fv.propagate(
        own_tables.nodes, own_tables.edges, folder=tmp_path / "f", split_seed=0, **own_tables.reading
    ).folder


def forge(folder: Path, change: Callable[[dict], object] | None = None) -> None:
    """Write the manifest as if the parts had always been as they are now."""
    path = folder / "manifest.json"
    document = json.loads(path.read_text())
    for part in document["parts"]:
        part["bytes"] = (folder / part["name"]).stat().st_size
        document["files"][part["name"]] = file_sha256(folder / part["name"])
    if change is not None:
        change(document)
    path.write_text(sealed(document))


def edit_part(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame], number: int = 1) -> None:
    path = folder / f"part-{number:05}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    forge(folder)


def test_a_whole_folder(folder):
    found = fv.verify(folder)
    assert (found.ok, found.problems, found.recomputed) == (True, (), True)
    assert set(found.checked) == {"manifest.json", *(f"part-0000{k}.parquet" for k in range(3))}


def test_a_flipped_byte(folder):
    path = folder / "part-00001.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert fv.verify(folder).problems == (
        "part-00001.parquet: does not match its sha256 in manifest.json; it is damaged or changed.",
    )


def test_a_missing_part(folder):
    (folder / "part-00002.parquet").unlink()
    assert fv.verify(folder).problems == ("part-00002.parquet: is missing, although manifest.json records it.",)


def test_a_changed_manifest(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"hops": 2', '"hops": 1'))
    assert "does not match its own sha256" in fv.verify(folder).problems[0]


def test_a_part_that_nobody_wrote(folder):
    shutil.copy(folder / "part-00000.parquet", folder / "part-00009.parquet")
    assert fv.verify(folder).problems == (
        "'part-00009.parquet': not recorded in manifest.json; of another propagation.",
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda rows: rows.drop("plain_1@1"),
            "part-00001.parquet: its columns are not those of the manifest: it lacks ",
        ),
        (
            lambda rows: rows.with_columns(more=1),
            "part-00001.parquet: its columns are not those of the manifest: it has 'more' too.",
        ),
        (
            lambda rows: rows.with_columns(pl.col("plain_1@0").cast(pl.Float64)),
            "part-00001.parquet: columns of another type: plain_1@0 (Float64, expected Float32).",
        ),
        (lambda rows: rows.head(10), "part-00001.parquet: has 10 rows, and manifest.json says 600."),
        (
            lambda rows: rows.with_columns(pl.lit(np.nan, dtype=pl.Float32).alias("plain_1@2")),
            "plain_1@2: holds values that are missing or not finite.",
        ),
        (
            lambda rows: rows.with_columns(pl.lit(None, dtype=pl.Float32).alias("plain_1@2")),
            "plain_1@2: holds values that are missing or not finite.",
        ),
        (lambda rows: rows.with_columns(sensitive=pl.lit("x")), "sensitive: 'x' is none of 'f', 'm'."),
        (lambda rows: rows.with_columns(label=pl.lit(1, dtype=pl.Int8)), "manifest.json: labelled is "),
        (lambda rows: rows.with_columns(split=pl.lit("train")), "manifest.json: splits is "),
        (
            lambda rows: rows.with_columns(pl.col("plain_1@1") * 1.01),
            "manifest.json: the moments after 1 hops are not those of the parts.",
        ),
        (lambda rows: rows.with_columns(id=pl.lit(None, dtype=pl.String)), "id: some nodes have none."),
    ],
)
def test_parts_that_were_forged_with_their_hashes(change, problem, folder):
    edit_part(folder, change)
    found = fv.verify(folder)
    assert not found.ok
    assert any(each.startswith(problem) for each in found.problems), found.problems


def test_a_manifest_whose_moments_were_forged(folder):
    def change(document: dict) -> None:
        document["moments"][2]["mean"][0] += 0.1

    forge(folder, change)
    assert fv.verify(folder).problems == ("manifest.json: the moments after 2 hops are not those of the parts.",)


def test_a_manifest_whose_covariance_is_no_matrix(folder):
    forge(folder, lambda document: document["moments"][1]["covariance"][2].pop())
    (problem,) = fv.verify(folder).problems
    assert problem.endswith("not a manifest of this version (its moments are not those of its channels).")


def test_other_documents_are_not_put_into_it(folder):
    from fairview.runs.evidence import write_audit

    with pytest.raises(fv.InputError, match=r"is a propagated folder, which stays as it is\. Use another folder\.$"):
        write_audit(folder, {})
    assert fv.verify(folder).ok
