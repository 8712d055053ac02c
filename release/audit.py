"""Do the pinned packages have known weaknesses? pip-audit on constraints.txt, in an environment of its own.

python -m release.audit           exit code 3 if there is one; without a network it says that it was skipped
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-audit"


def verdict(output: str) -> tuple[int, str]:
    """The exit code and what to say, from pip-audit's JSON.

    pip-audit finds "no known vulnerabilities" also where it could look up nothing, so that is counted here.

    Example:
        >>> verdict('{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}]}')
        (3, '1 of 1 packages looked up; known weaknesses: a 1 (X-1)')
        >>> verdict('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}')
        (0, 'skipped: none of 1 packages could be looked up; is there a network?')
        >>> verdict("")
        (0, 'skipped: pip-audit gave no answer; is there a network?')
    """
    try:
        packages = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "skipped: pip-audit gave no answer; is there a network?"
    looked_up = [each for each in packages if "skip_reason" not in each]
    if not looked_up:
        return 0, f"skipped: none of {len(packages)} packages could be looked up; is there a network?"
    weak = [
        f"{each['name']} {each['version']} ({', '.join(found['id'] for found in each['vulns'])})"
        for each in looked_up
        if each["vulns"]
    ]
    known = f"known weaknesses: {'; '.join(weak)}" if weak else "no known weakness"
    return 3 if weak else 0, f"{len(looked_up)} of {len(packages)} packages looked up; {known}"


def pip_audit() -> str:
    """What pip-audit prints; empty if it can't be installed."""
    python = str(ENVIRONMENT / "bin" / "python")
    if not Path(python).exists():
        venv.create(ENVIRONMENT, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"]
    if subprocess.run(install, capture_output=True, timeout=300).returncode:
        return ""
    command = [python, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"), "--no-deps", "--disable-pip"]
    command += ["--progress-spinner", "off", "--format", "json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300).stdout


def main() -> int:
    """Look, and say what was found."""
    try:
        code, words = verdict(pip_audit())
    except subprocess.TimeoutExpired:
        code, words = 0, "skipped: it took too long; is there a network?"
    print(f"pip-audit: {words}")
    return code


if __name__ == "__main__":
    sys.exit(main())
