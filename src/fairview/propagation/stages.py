"""How far is long work? Stage by stage, each timed and shown, and remembered once it is whole.

A stage that leaves files is remembered by a small document in the work folder, written after those files are on disk. A
process that was killed finds what is whole and goes on with the rest.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairview.atomic import write_json
from fairview.progress import track


class Stages:
    """The stages of one piece of work.

    Args:
        work: the folder of what is under way; None if nothing is kept.
    """

    def __init__(self, work: Path | None = None) -> None:
        self.work = work
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timed(self, name: str, total: int) -> Iterator[Callable[[int], None]]:
        """A stage of `total` steps; call what is yielded with the number of steps just done."""
        start = time.perf_counter()
        with track(name.capitalize(), total=total) as advance:
            yield advance
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def result(self, name: str) -> Any:
        """What a stage that is whole has left behind; None if it is not."""
        if self.work is None:
            return None
        try:
            return json.loads((self.work / f"{name}.json").read_bytes())["result"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def finish(self, name: str, result: Any) -> None:
        """Remember that a stage is whole, with what the next ones need to know."""
        if self.work is not None:
            write_json(self.work / f"{name}.json", {"stage": name, "result": result})
