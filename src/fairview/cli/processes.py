"""What does a command do that torchrun started several times? The first process speaks; all end together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairview.cli.interrupts import politely_ended
from fairview.errors import FairviewError, InputError

if TYPE_CHECKING:
    from fairview.data.graph import NodeGraph
    from fairview.propagation.folder import Propagated
    from fairview.training.processes import Place


def place_among_processes(propagated: Path | None, divisible: Callable[[], bool], method: str) -> Place | None:
    """Which of several processes this is; None if it works alone.

    Where a training can't be divided, the first process works alone, and the others end here.
    """
    from fairview.training.processes import place_by_torchrun

    place = place_by_torchrun()
    if place is None:
        return None
    with _one_voice(place):
        if propagated is None:
            raise InputError(
                f"torchrun: {place.processes} processes train from a propagated folder only. Make one with "
                "`fairview propagate` and give --propagated DIR, or leave torchrun out."
            )
        if divisible():
            return place
    if not place.leads:
        raise typer.Exit
    typer.echo(f"note: {method} with these settings is trained by one process; the others have ended.", err=True)
    return None


@contextmanager
def one_of(place: Place | None, out: Path) -> Iterator[None]:
    """Inside, this process is connected with the others; if one of them ends, so does this, and says how to go on."""
    from fairview.training.processes import GroupEndedError, joined

    if place is None:
        yield
        return
    ended = FairviewError(
        f"a process of the group ended; what is finished is kept: go on with the same command and --resume --out {out}"
    )
    with _one_voice(place, ended), politely_ended():
        try:
            with joined():
                yield
        except (GroupEndedError, KeyboardInterrupt):
            raise ended from None


def graph_for_report(graph: NodeGraph, whole: Propagated | None, rows: int | None) -> NodeGraph | None:
    """The graph with all its nodes; None, with a line on stderr, if they are divided because there are too many."""
    from fairview.data.sharded_graph import ShardedGraph
    from fairview.propagation.sampling import row_budget

    if whole is None or not isinstance(graph, ShardedGraph):
        return graph
    most = row_budget(whole.facts)
    if graph.num_nodes <= most:
        return whole.sample(rows=rows)
    typer.echo(
        f"no report: its audit takes one process, which loads at most {most:,} nodes, and the run has "
        f"{graph.num_nodes:,}.",
        err=True,
    )
    return None


@contextmanager
def _one_voice(place: Place, *said_by_all: Exception) -> Iterator[None]:
    """The first process prints. Of the others, the first of each machine says why it failed, if it did."""
    if place.leads:
        yield
        return
    try:
        with (
            Path(os.devnull).open("w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            yield
    except FairviewError as error:
        if error in said_by_all or os.environ.get("LOCAL_RANK") == "0":
            raise
        raise typer.Exit(1) from None
