"""Every benchmark, one after the other, each against its baseline in the same process: `make bench`."""

from __future__ import annotations

import json
import sys

from benchmarks import audit, metrics, similarity, synthetic


def main() -> int:
    """Print a table of ratios (JSON with `--json`); 3 if one falls short of its target."""
    as_json = "--json" in sys.argv
    results = []
    for benchmark in (similarity, synthetic, metrics, audit):
        result = benchmark.measure()
        lower_is_better = benchmark in (synthetic, audit)
        result["met"] = result["ratio"] <= result["target"] if lower_is_better else result["ratio"] >= result["target"]
        results.append(result)
        if not as_json:
            sign = "<=" if lower_is_better else ">="
            times = f"ours {result['ours_seconds']:8.4f} s   baseline {result['baseline_seconds']:8.4f} s"
            verdict = f"target {sign} {result['target']:g}: {'met' if result['met'] else 'MISSED'}"
            print(f"{result['name']:<40} {times}   ratio {result['ratio']:7.2f} ({verdict})")
            print(f"  {result['note']}")
    if as_json:
        print(json.dumps(results, indent=2))
    return 0 if all(result["met"] for result in results) else 3


if __name__ == "__main__":
    sys.exit(main())
