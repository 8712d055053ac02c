"""What if nobody reads the output? `fairview datasets | head -1`: the command goes on, silently, to its own end."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any


class _Pipe(io.FileIO):
    """Once the reader has hung up or the disk is full, what is written goes nowhere; a full disk is told, once."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError):
                raise
            return super().write(data)


def outlive_readers() -> None:
    """Standard output and error that can be cut off, or closed from the start (`>&-`), without an error.

    What is being computed is finished and saved, and the exit code is the command's own.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the free number is taken, so that no file of the user's becomes standard output
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the whole process
        elif stream is getattr(sys, f"__{name}__"):  # not one that a test or a notebook has put there
            setattr(sys, name, _steady(stream))


def _steady(stream: Any) -> Any:
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):  # the console of Windows
        return stream
    stream.flush()
    pipe: Any = _Pipe(raw.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        pipe if raw is stream.buffer else io.BufferedWriter(pipe),  # the former with `python -u`
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
