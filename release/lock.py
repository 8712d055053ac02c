"""Which files exactly does a release contain? `release/release.lock`: every package with its version and sha256.

python -m release.lock            write the lock for this platform (`make lock`)
python -m release.lock --check    exit code 3 unless the lock is for this platform and these constraints

The hashes are of wheels for one platform and one version of Python. Only `make release` reads the lock; installing,
testing and `make wheel` work everywhere without it.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "release" / "release.lock"


def header() -> str:
    """What the lock is for: platform, version of Python, and what the versions were chosen from."""
    about = f"Python {platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = json.dumps([project["dependencies"], project["optional-dependencies"]["report"]])
    digest = hashlib.sha256((ROOT / "constraints.txt").read_bytes() + needed.encode()).hexdigest()
    return f"# {platform.system()} {platform.machine()}, {about}\n# made from requirements and constraints {digest}\n"


def lines(report: Mapping[str, Any]) -> str:
    """A requirement with its hash for each package that pip would install, but for fairview itself.

    Example:
        >>> held = {"metadata": {"name": "Mako", "version": "1.4.3"}}
        >>> lines({"install": [held | {"download_info": {"archive_info": {"hashes": {"sha256": "ab"}}}}]})
        'mako==1.4.3 --hash=sha256:ab\\n'
    """
    found = []
    for each in report["install"]:
        name = each["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
        if name != "fairview":
            sha256 = each["download_info"]["archive_info"]["hashes"]["sha256"]
            found.append(f"{name}=={each['metadata']['version']} --hash=sha256:{sha256}\n")
    return "".join(sorted(found))


def resolved() -> dict[str, Any]:
    """What pip would install on this platform."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
    command += ["--ignore-installed", "--report", "-", "--constraint", str(ROOT / "constraints.txt")]
    made = subprocess.run([*command, f"{ROOT}[report]"], check=True, stdout=subprocess.PIPE)
    report: dict[str, Any] = json.loads(made.stdout)
    return report


def check() -> str:
    """Why the lock can't be used here; empty if it can."""
    if not LOCK.exists():
        return "release/release.lock: there is none. Write it with `make lock`."
    if not LOCK.read_text(encoding="utf-8").startswith(header()):
        return (
            "release/release.lock: is for another platform, or older than the requirements. Write it with `make lock`."
        )
    return ""


def main() -> int:
    """Write the lock, or check it."""
    if "--check" in sys.argv:
        problem = check()
        print(problem or "release/release.lock: is for this platform and these constraints.")
        return 3 if problem else 0
    LOCK.write_text(header() + lines(resolved()), encoding="utf-8")
    print(LOCK.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
