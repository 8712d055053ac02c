"""May this path be written? Never over an input or what is no plain file; over a foreign file only on request.

Commands ask before they read anything, the library asks before the work and again just before it writes. Inputs are
told by device and inode, so that links to them and other spellings of their paths are the same file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from fairview.atomic import check_replaceable
from fairview.errors import FairviewError, InputError, Problems, option, placeholder
from fairview.manifest import holder_of, recorded
from fairview.marks import MARKS, wrote

Inputs = Iterable[str | Path]


def check_file(path: str | Path, name: str, *, inputs: Inputs = (), overwrite: bool = False) -> None:
    """Whether a command may write one file.

    Args:
        path: that the user names.
        name: of the kind of output, as it is called in a folder: `predictions.csv`.
        inputs: the files that the command reads.
        overwrite: also over a file that fairview did not write.

    Raises:
        InputError: it is an input, no plain file, a file of a finished run, or a foreign file.
    """
    path = Path(path)
    _refuse_input(path, inputs, option("out"), "file")
    _check_parents(path)
    check_replaceable(path)
    if not path.exists():
        return
    holder, known = holder_of(path.parent), _recorded(path.parent)
    if holder.is_file() and (path == holder or path.name in (MARKS if known is None else known)):
        raise InputError(
            f"{path}: belongs to the results in its folder, which stay as {holder.name} describes them. Name another "
            "file."
        )
    if not overwrite and not wrote(path, name):
        raise InputError(_foreign(path, f"holds something else than fairview's {Path(name).stem}", "Name another file"))


def check_folder(
    folder: str | Path, names: Iterable[str] = (), *, inputs: Inputs = (), overwrite: bool = False
) -> None:
    """Whether these files may be written into a folder; other files in it do not matter.

    Args:
        folder: made later, if need be.
        names: of the files to write or remove; they may lie in folders of the folder.
        inputs: the files that are read.
        overwrite: also over files that fairview did not write.

    Raises:
        InputError: with every file that would be destroyed.
    """
    folder, inputs = Path(folder), tuple(inputs)
    _refuse_input(folder, inputs, option("folder"), "folder")
    if os.path.lexists(folder) and not folder.is_dir():
        raise InputError(f"{folder}: is not a folder. Name another {option('folder')}.")
    if not folder.exists():
        _check_parents(folder)
        return
    problems = Problems()
    for path in (folder / name for name in names):
        with problems.collecting():
            _refuse_input(path, inputs, option("folder"), "folder")
            _check_parents(path)
            check_replaceable(path)
            ours = overwrite or not path.exists() or path.name in (_recorded(path.parent) or ()) or wrote(path)
            if not ours:
                raise InputError(_foreign(path, "was not written by fairview", "Move it away"))
    problems.raise_if_any()


def _refuse_input(path: Path, inputs: Inputs, what: str, another: str) -> None:
    if any(_is_same(path, each) for each in inputs):
        is_input = placeholder(python="the graph was read from it", command_line="is an input of this command")
        raise InputError(f"{path}: {is_input}; {what} can't replace it. Name another {another}.")


def _is_same(path: Path, other: str | Path) -> bool:
    with suppress(OSError, ValueError):  # one of them is not there, or no path
        return path.samefile(other)
    return False


def _check_parents(path: Path) -> None:
    """Every folder above is a folder, and the last one that exists can be written to."""
    for parent in path.absolute().parents:
        if parent.is_dir():
            if not os.access(parent, os.W_OK | os.X_OK):
                raise FairviewError(f"{path}: can't be written ({os.strerror(errno.EACCES)}).")
            return
        if os.path.lexists(parent):
            raise InputError(f"{path}: can't be written ({parent} is not a folder).")


def _recorded(folder: Path) -> Mapping[str, str] | None:
    """The files that a folder records; None without a record, or with a damaged one: its readers say so."""
    try:
        return recorded(folder)
    except InputError:
        return None


def _foreign(path: Path, why: str, instead: str) -> str:
    return f"{path}: exists, and {why}. {instead}, or pass {option('overwrite', True)} to replace it."
