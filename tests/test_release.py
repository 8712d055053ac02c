"""Lock, bill of materials and pip-audit of a release."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from release import lock, sbom

ROOT = Path(__file__).parents[1]


def wheel(folder: Path, name: str, *lines: str) -> None:
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        info = zipfile.ZipInfo(f"{name}-1.0.dist-info/METADATA")
        archive.writestr(info, "\n".join([f"Name: {name}", "Version: 1.0", *lines, "", "text"]))


def test_a_bill_of_materials_lists_every_wheel_with_its_hash_and_what_it_needs(tmp_path):
    wheel(tmp_path, "fairview", "License-Expression: MIT", "Requires-Dist: Some_Thing>=1", "Requires-Dist: gone")
    wheel(tmp_path, "some_thing", "Requires-Dist: other; extra == 'x'")
    wheel(tmp_path, "other")
    made = sbom.document(tmp_path)
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["licenses"] == [{"expression": "MIT"}]
    assert [each["purl"] for each in made["components"]] == ["pkg:pypi/other@1.0", "pkg:pypi/some-thing@1.0"]
    assert all(re.fullmatch("[0-9a-f]{64}", each["hashes"][0]["content"]) for each in made["components"])
    needed = {each["ref"]: each["dependsOn"] for each in made["dependencies"]}
    assert needed["pkg:pypi/fairview@1.0"] == ["pkg:pypi/some-thing@1.0"]
    assert needed["pkg:pypi/some-thing@1.0"] == []
    assert sbom.document(tmp_path) == made


def test_a_folder_without_our_wheel_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"no wheel of fairview in it\. Make it with `make wheel`\."):
        sbom.document(tmp_path)


def test_the_lock_pins_every_package_by_hash():
    rows = [line for line in lock.LOCK.read_text().splitlines() if not line.startswith("#")]
    assert len(rows) > 40
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+ --hash=sha256:[0-9a-f]{64}", row) for row in rows)


def test_a_lock_of_another_platform_is_refused(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    assert lock.check().startswith("release/release.lock: is for another platform")


def test_only_the_release_reads_the_lock():
    recipes = re.findall(r"^([a-z-]+):.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [name for name, recipe in recipes if "release.lock" in recipe] == ["lock", "release"]
