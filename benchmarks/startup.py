"""How long does `fairview predict` take on 1,000 rows? Most of it is imports; the limit is 3 seconds.

python -m benchmarks.startup           exit code 3 if the quickest of five runs takes longer
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fairview as fv

LIMIT_SECONDS = 3.0


def main() -> int:
    """Train on a table of 1,000 people, and time `predict` on it from the outside."""
    with tempfile.TemporaryDirectory() as folder:
        nodes, run = Path(folder) / "people.csv", Path(folder) / "run"
        fv.synthetic_graph(1000, seed=5).to_frame().drop("split", strict=False).write_csv(nodes)
        tables = ["--nodes", str(nodes), "--label", "label", "--sensitive", "sensitive", "--neighbours", "5"]
        _fairview("train", *tables, "--set", "epochs=5", "--no-report", "--out", str(run))
        seconds = sorted(
            _fairview("predict", str(run), "--nodes", str(nodes), "--out", f"{nodes}.out") for _ in range(5)
        )
    print(f"fairview predict, 1,000 rows: {seconds[0]:.2f} to {seconds[-1]:.2f} s (limit {LIMIT_SECONDS:g} s)")
    return 0 if seconds[0] <= LIMIT_SECONDS else 3


def _fairview(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "fairview", *arguments], check=True, capture_output=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
