"""How do time, memory and disk grow with the links? Tables are written, propagated, audited and trained on.

python -m benchmarks.scale                        10^6, 10^7 and 10^8 links, a tenth as many nodes, 8 channels
python -m benchmarks.scale --links 1e9            10^9 links and 10^8 nodes: about 45 GB of disk
python -m benchmarks.scale --rivals               beside them: PyG's SIGN, and the same hops as SQL joins in DuckDB
python -m benchmarks.scale table                  the table of docs/scale.md from docs/results/scale.csv

Each step runs in a process of its own, which gets 20 GiB and whose largest resident size is reported. Exit code 3 if
10^8 links take more than 10 minutes or 8 GiB from tables to a trained model.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import fairview as fv
from fairview.machine import peak_memory_mb

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "scale.csv"
CHANNELS, HOPS, PER_FILE = 8, 2, 20_000_000
LIMIT_SECONDS, LIMIT_MB = 600, 8 * 1024
MOST_MEMORY = 20 * 1024**3


# --- tables -----------------------------------------------------------------------------------------------------------


def write_tables(folder: Path, nodes: int, links: int, seed: int = 0) -> None:
    """People with a group, eight columns and one label in a hundred; links that prefer their own group and hubs.

    The first column leans to the group, the second to the label. Targets follow a square law: a hub has thousands of
    links. Four of five links stay in the group, which is the parity of a node's number.
    """
    rng = np.random.default_rng(seed)
    for name in ("people", "links"):
        (folder / name).mkdir(parents=True)
    for number, start in enumerate(range(0, nodes, PER_FILE // 4)):
        count = min(PER_FILE // 4, nodes - start)
        ids = np.arange(start, start + count)
        group = ids % 2
        columns: dict[str, Any] = {"id": ids}
        for place in range(CHANNELS):
            columns[f"x{place}"] = (rng.normal(size=count) + (0.3 * group if place == 0 else 0)).round(4)
        chance = columns["x1"] + 0.5 * group + rng.normal(size=count)
        label = pl.Series((chance > 0).astype(np.int8))
        columns["group"] = pl.Series(np.where(group, "b", "a"))
        columns["label"] = label.set(pl.Series(rng.random(count) > 0.01), None)
        pl.DataFrame(columns).write_parquet(folder / "people" / f"part-{number:04}.parquet", compression="lz4")
    for number, start in enumerate(range(0, links, PER_FILE)):
        count = min(PER_FILE, links - start)
        source = rng.integers(0, nodes, count)
        target = (nodes * rng.random(count) ** 2).astype(np.int64)
        stays = (rng.random(count) < 0.6) & (source % 2 != target % 2)
        target = np.where(stays, target ^ 1, target) % nodes
        frame = pl.DataFrame({"source": source.astype(np.int32), "target": target.astype(np.int32)})
        frame.write_parquet(folder / "links" / f"part-{number:04}.parquet", compression="lz4")


# --- steps, each in a process of its own ------------------------------------------------------------------------------


def propagate(folder: Path, memory: str) -> dict[str, Any]:
    """Tables to a propagated folder."""
    made = fv.propagate(
        folder / "people", folder / "links", folder=folder / "propagated", label="label", sensitive="group",
        hops=HOPS, split_seed=0, engine="duckdb", memory=memory,
    )  # fmt: skip
    assert made.cost is not None
    stages = {f"stage {name}": seconds for name, seconds in made.cost.seconds.items()}
    return {"links": made.facts.links, "disk_mb": made.cost.disk_mb, **stages}


def command(folder: Path, *words: str) -> dict[str, Any]:
    """A command of the command line, in this process."""
    from fairview.cli.main import main

    try:
        main([*words, "--propagated", str(folder / "propagated"), "--out", str(folder / words[0]), "--format", "json"])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{words}: exit code {end.code}") from None
    return {}


def pyg_sign(folder: Path) -> dict[str, Any]:
    """PyG's T.SIGN on the same graph: everything in memory."""
    import torch
    from torch_geometric.data import Data
    from torch_geometric.transforms import SIGN
    from torch_geometric.utils import coalesce, to_undirected

    people, links = pl.read_parquet(folder / "people"), pl.read_parquet(folder / "links")
    x = torch.from_numpy(people.select(f"x{k}" for k in range(CHANNELS)).to_numpy().astype(np.float32))
    edges = torch.from_numpy(np.stack([links["source"].to_numpy(), links["target"].to_numpy()]).astype(np.int64))
    edges = coalesce(to_undirected(edges[:, edges[0] != edges[1]]))
    SIGN(HOPS)(Data(x=x, edge_index=edges))
    return {}


def sql_joins(folder: Path, memory: str) -> dict[str, Any]:
    """The same hops as joins and sums in DuckDB, as one would write them first."""
    import duckdb

    spill = folder / "spill"
    con = duckdb.connect(config={"memory_limit": memory, "threads": 2, "temp_directory": str(spill)})
    people, links = f"'{folder}/people/*.parquet'", f"'{folder}/links/*.parquet'"
    con.execute(
        f"CREATE TABLE pairs AS SELECT DISTINCT source, target FROM (SELECT source, target FROM {links} UNION ALL "
        f"SELECT target, source FROM {links}) WHERE source <> target"
    )
    con.execute("CREATE TABLE degree AS SELECT target AS id, count(*) + 1 AS d FROM pairs GROUP BY 1")
    columns = [f"x{place}" for place in range(CHANNELS)]
    con.execute(
        f"CREATE TABLE hop0 AS SELECT p.id, coalesce(d, 1) AS d, {', '.join(columns)} FROM {people} p "
        "LEFT JOIN degree USING (id)"
    )
    for hop in range(1, HOPS + 1):
        gathered = ", ".join(f"sum({c} / sqrt(d)) AS {c}" for c in columns)
        moved = ", ".join(f"(h.{c} / sqrt(h.d) + coalesce(g.{c}, 0)) / sqrt(h.d) AS {c}" for c in columns)
        con.execute(
            f"CREATE TABLE hop{hop} AS WITH g AS (SELECT target AS id, {gathered} FROM pairs JOIN hop{hop - 1} "
            f"ON source = hop{hop - 1}.id GROUP BY target) "
            f"SELECT h.id, h.d, {moved} FROM hop{hop - 1} h LEFT JOIN g ON h.id = g.id"
        )
    con.close()
    shutil.rmtree(spill, ignore_errors=True)
    return {}


STEPS: dict[str, Any] = {
    "propagate": propagate,
    "audit": lambda folder, _: command(folder, "audit"),
    "train": lambda folder, _: command(folder, "train", "--set", "adversary_sample=2048", "--no-report"),
    "PyG SIGN": lambda folder, _: pyg_sign(folder),
    "SQL joins": sql_joins,
}


def run_step(name: str, folder: Path, memory: str) -> dict[str, Any]:
    """One step in a process of its own; a step that dies is a result, too."""
    words = [sys.executable, "-m", "benchmarks.scale", "step", name, str(folder), memory]
    start = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
        return {"seconds": seconds, "died": last[:200]}
    return {"seconds": seconds, **json.loads(done.stdout.strip().splitlines()[-1])}


def _step(name: str, folder: Path, memory: str) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    result = STEPS[name](folder, memory)
    print(json.dumps({"peak_memory_mb": peak_memory_mb(), **result}))


# --- all of it --------------------------------------------------------------------------------------------------------


def measure(links: int, work: Path | None, memory: str, rivals: bool) -> list[dict[str, Any]]:
    """Every step on a graph of so many links."""
    nodes = links // 10
    folder = Path(tempfile.mkdtemp(prefix="scale-", dir=work))
    try:
        start = time.perf_counter()
        write_tables(folder, nodes, links)
        print(f"{links:.0e} links: tables written in {time.perf_counter() - start:.0f} s", flush=True)
        rows = []
        for name in ("propagate", "audit", "train", *(("PyG SIGN", "SQL joins") if rivals else ())):
            row = {"links": links, "nodes": nodes, "step": name} | run_step(name, folder, memory)
            row["links"] = links
            rows.append(row)
            print(
                {key: round(value, 1) if isinstance(value, float) else value for key, value in row.items()}, flush=True
            )
        return rows
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def save(rows: list[dict[str, Any]]) -> None:
    """Into docs/results/scale.csv; rows of the same size and step are replaced."""
    kept = [row for row in load() if (int(row["links"]), row["step"]) not in {(r["links"], r["step"]) for r in rows}]
    whole = sorted([*kept, *rows], key=lambda row: (int(row["links"]), list(STEPS).index(row["step"])))
    columns = list(dict.fromkeys(name for row in whole for name in row))
    with RESULTS.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(
            {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}
            for row in whole
        )


def load() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def table() -> None:
    """The table of docs/scale.md."""
    print("| links | nodes | step | seconds | peak memory | folder | |\n|---|---|---|---|---|---|---|")
    for row in load():
        stages = [
            f"{key.removeprefix('stage ')} {float(value):.0f}"
            for key, value in row.items()
            if key.startswith("stage ") and value
        ]
        words = f"died: {row['died']}" if row.get("died") else ", ".join(stages)
        memory = f"{float(row['peak_memory_mb']) / 1024:.1f} GiB" if row.get("peak_memory_mb") else ""
        disk = f"{float(row['disk_mb']) / 1024:.2f} GiB" if row.get("disk_mb") else ""
        cells = (
            f"{int(row['links']):,}",
            f"{int(row['nodes']):,}",
            row["step"],
            f"{float(row['seconds']):.0f}",
            memory,
            disk,
            words,
        )
        print(f"| {' | '.join(cells)} |")


def main(arguments: list[str] | None = None) -> int:
    """Measure, save, and judge."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["step"]:
        _step(given[1], Path(given[2]), given[3])
        return 0
    if given[:1] == ["table"]:
        table()
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--memory", default="8GB")
    parser.add_argument("--work", type=Path, help="folder for the tables [default: the system's temporary one]")
    parser.add_argument("--rivals", action="store_true")
    asked = parser.parse_args(given)
    missed = False
    for links in asked.links:
        rows = measure(int(links), asked.work, asked.memory, asked.rivals)
        save(rows)
        ours = [row for row in rows if row["step"] in ("propagate", "audit", "train")]
        if int(links) == 10**8:
            seconds, peak = sum(row["seconds"] for row in ours), max(row.get("peak_memory_mb", 0) for row in ours)
            missed |= seconds > LIMIT_SECONDS or peak > LIMIT_MB or any("died" in row for row in ours)
            print(f"10^8 links: {seconds:.0f} s of {LIMIT_SECONDS}, {peak / 1024:.1f} of {LIMIT_MB / 1024:.0f} GiB")
    return 3 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
