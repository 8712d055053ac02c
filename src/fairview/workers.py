"""How does work reach several processes, and what if one of them dies?

Each worker has a pipe of its own and one task at a time, so it is known whose work was lost; the others go on. What
many tasks share, such as a graph, is sent to a worker once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from fairview.errors import FairviewError

Task = TypeVar("Task")

_HUNG_UP = (EOFError, BrokenPipeError, ConnectionResetError)
"""What a pipe raises when the process at its other end is gone."""


@dataclass(frozen=True)
class Death:
    """A task that has no answer, because its process ended."""

    reason: str


@dataclass(frozen=True)
class _Crash:
    """An error in the work that is no fault of the user's."""

    trace: str


@dataclass(frozen=True)
class _Ready:
    """Said once, when all imports are done."""


def end_if_still_starting() -> None:
    """End a worker that begins a study of its own while it imports the script that started it.

    A script without `if __name__ == "__main__":` does that; the parent then says what to do.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        os._exit(1)


def spread(
    tasks: Sequence[Task],
    work: Callable[[Task, Any], Any],
    *,
    key: Callable[[Task], str],
    shared: Callable[[str], Any],
    workers: int,
) -> Generator[tuple[Task, Any], None, None]:
    """Do `work(task, shared(key(task)))` for all tasks; yields each task with its answer as they come.

    Args:
        tasks: in the order in which they begin; those with the same key should be neighbours.
        work: a function of a module, because it is looked up by name in the workers.
        key: what a task shares with others.
        shared: the shared thing of a key; a worker gets it when the key changes.
        workers: how many processes.

    Yields:
        The task, and its answer or a `Death`. Closing the generator ends all processes at once.
    """
    waiting = deque(tasks)
    crew: list[_Worker] = []
    try:
        crew += [_Worker(work) for _ in range(min(workers, len(tasks)))]
        while expected := [worker for worker in crew if worker.busy or (waiting and not worker.ready)]:
            answered = set(wait([worker.pipe for worker in expected]))
            for worker in [worker for worker in expected if worker.pipe in answered]:
                task, answer = worker.receive()
                if isinstance(answer, Death):
                    crew.remove(worker)
                    worker.end()  # one that ran out of memory is still there, and holds it
                    crew += [_Worker(work)] if waiting else []
                elif waiting:
                    following = waiting.popleft()
                    worker.give(following, key(following), shared)
                if not isinstance(answer, _Ready):
                    yield task, answer
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process, seen from the parent."""

    def __init__(self, work: Callable[[Any, Any], Any]) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
        self.pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        with _deaf_to_interrupts():
            self._process.start()
        theirs.close()  # or its end would never be noticed
        with suppress(*_HUNG_UP):  # it has died already; `receive` will say so
            self.pipe.send(work)  # not as an argument: its imports begin when the worker looks after its parent
        self.ready, self.busy = False, False
        self._task: Any = None
        self._key: str | None = None

    def give(self, task: Any, key: str, shared: Callable[[str], Any]) -> None:
        self._task, self.busy = task, True
        fresh = key != self._key
        self._key = key
        content = task, fresh, shared(key) if fresh else None
        with suppress(*_HUNG_UP):  # it has died meanwhile; `receive` will say so
            self.pipe.send(content)

    def receive(self) -> tuple[Any, Any]:
        """The task and its answer, or its death; or that the worker is ready for its first task."""
        try:
            answer = self.pipe.recv()
        except _HUNG_UP:
            self._process.join()
            answer = Death(_ending(self._process.exitcode))
            self.pipe.close()
            if not self.ready:
                raise FairviewError(
                    f"a worker could not start ({answer.reason}). Use one worker; in a script of your own, begin the "
                    "study below `if __name__ == '__main__':`."
                ) from None
        if isinstance(answer, _Crash):
            raise RuntimeError(f"{self._task}\n{answer.trace}")
        if isinstance(answer, FairviewError):
            raise answer
        self.ready, self.busy = True, False
        return self._task, answer

    def end(self) -> None:
        self._process.terminate()
        self._process.join(timeout=5)
        self._process.kill()
        self.pipe.close()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A process that is started inside can't be interrupted while it imports; this one hears of it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code == -signal.SIGKILL:
        return "its process was killed (signal 9), as the system does when memory runs out"
    if code is not None and code < 0:
        return f"its process was ended by signal {-code}"
    return f"its process ended with code {code}"


# --- in a worker ------------------------------------------------------------------------------------------------------


def _serve(pipe: Connection) -> None:
    """Work until the parent hangs up. One that was killed leaves nobody to tell: no word on the terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent acts on it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(*_HUNG_UP):
        _answer(pipe, pipe.recv())


def _answer(pipe: Connection, work: Callable[[Any, Any], Any]) -> None:
    """One task after the other."""
    pipe.send(_Ready())
    common = None
    while True:
        task, fresh, given = pipe.recv()
        common = given if fresh else common
        try:
            answer = work(task, common)
        except MemoryError:
            answer = Death("it ran out of memory")
        except FairviewError as error:
            answer = error
        except Exception:
            answer = _Crash(traceback.format_exc())
        pipe.send(answer)


def _end_with_parent() -> None:
    """A parent that is killed can't say so; its orphans must not go on working."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
