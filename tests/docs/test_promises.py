"""Does every promise have its test?"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")


def test_every_promise_names_a_file_that_holds_it():
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
    rows = [row for row in rows if not row.startswith(("| promise |", "| what |"))]
    assert len(rows) > 20
    for row in rows:
        named = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`|`(?:python -m |make )[\w. -]+`", row)
        assert named, row
        assert all((ROOT / name).is_file() for name in named if name), row
