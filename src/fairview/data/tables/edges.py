"""Who is linked to whom, in this file? Edge tables with a header, and edge lists without one, become pairs of nodes.

An edge list in the manner of SNAP has comment lines that begin with `#` or `%`, no header, and blanks or tabs between
the ids; some write node 838 as `8.380000000000000000e+02`. Both are recognised and read as what they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from fairview.data.link_kinds import LinkKinds
from fairview.data.tables.cells import Table, TableSource, read_file, read_table, usual_separator
from fairview.data.tables.columns import Place, as_texts, places, whole_texts
from fairview.data.tables.csv_text import decode, parse_csv
from fairview.data.tables.kind_column import read_kinds
from fairview.data.tables.weight_column import read_weights
from fairview.errors import InputError, Problems, option, quoted
from fairview.progress import track
from fairview.remedies import remedies


class Pairs(NamedTuple):
    """Node numbers of both ends of each edge, and its weight and kind if columns have them."""

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None = None
    kinds: LinkKinds | None = None


_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)  # all below 2**63
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def read_edge_table(
    source: TableSource,
    *,
    ids: tuple[str, ...] | None,
    separator: str | None = None,
    encoding: str = "utf-8",
    name: str = "edges",
) -> tuple[Table, list[str]]:
    """The edges as a table of texts, with notes on how the file was understood.

    The first line tells what is between the cells: the separator, if it is there, else a comma, a semicolon, or blanks
    and tabs. It is a header unless its first two cells are both numbers or both ids of nodes.
    """
    if not isinstance(source, (str, Path)):
        return read_table(source, name=name, may_be_empty=True), []
    path = Path(source)
    data = read_file(path)
    if data[:4] == b"PAR1":
        return read_table(path, name=path.name, may_be_empty=True), []
    whole = decode(data, path.name, encoding)
    text, separator, header, notes = edge_layout(whole, path, separator, ids)
    blanks = separator == " "
    if blanks:
        text = _single_blanks(text)
    above = whole.count(b"\n") - text.count(b"\n")
    frame = parse_csv(text, path.name, separator, header=header, quotes=not blanks, first_line=above + 1)
    if not header:
        notes.append(f"{path.name}: read as an edge list without a header")
    elif not {"source", "target"} <= set(frame.columns):
        notes.append(f"{path.name}: the first line ({quoted(frame.columns)}) is read as the header")
    return Table(path.name, frame, hashlib.sha256(data).hexdigest()), notes


def edge_layout(
    whole: bytes, path: Path, separator: str | None, ids: tuple[str, ...] | None
) -> tuple[bytes, str, bool, list[str]]:
    """How a CSV file of edges is laid out: the text without comments, what is between cells, whether it has a header.

    The fourth is a note on comments, if there are any. The first lines of a file are enough to tell.
    """
    text, comments = _without_comments(whole)
    if not text.strip():
        raise InputError(f"{path.name}: only comments. If there are no edges, say so with the header 'source,target'.")
    notes = [f"{path.name}: {comments} comment lines skipped"] if comments else []
    first = text[: text.index(b"\n") + 1] if b"\n" in text else text
    separator = _separator(first.decode(), separator, path)
    return text, separator, not _is_data(first.decode(), separator, ids, path.name), notes


def match_nodes(
    table: Table,
    ids: Sequence[str],
    nodes: Sequence[str],
    *,
    ends: tuple[str, str],
    edge_weight: str | None = None,
    link_kind: str | None = None,
    known_kinds: Sequence[str] | None = None,
    drop_unknown: bool = False,
) -> tuple[Pairs, list[str]]:
    """Node numbers of both ends of each edge, whose columns are `ends`, and notes.

    Weights are in the column `edge_weight`, kinds in `link_kind`; of an earlier table, these are `known_kinds`. `ids`
    are those of all nodes, `nodes` the names of their tables.

    Raises:
        InputError: a column or an end is missing, a weight is no weight, a kind is none of the known ones, or an id is
            not among the nodes and `drop_unknown` is off.
    """
    first, second = ends
    weights = kinds = None
    problems = Problems()
    with problems.collecting():
        weights = None if edge_weight is None else read_weights(table, edge_weight, ends=ends)
    with problems.collecting():
        kinds = None if link_kind is None else read_kinds(table, link_kind, ends=ends, known=known_kinds)
    problems.raise_if_any()
    notes = [] if len(table) else [f"{table.name}: no edges"]
    ignored = [column for column in table.columns if column not in (first, second, edge_weight, link_kind)]
    if ignored:
        notes.append(f"{table.name}: columns {quoted(ignored)} ignored; '{first}' and '{second}' are the ends")
    given = [_end_ids(table, column, ids) for column in ends]
    for column, end in zip(ends, given, strict=True):
        if end.null_count():
            where = Place(None)(np.flatnonzero(end.is_null().to_numpy()))
            raise InputError(
                f"{table.name}: column '{column}': {end.null_count():,} of {len(table):,} cells are empty ({where})."
            )
    rows = _rows(given, ids)
    unknown = rows[0].is_null() | rows[1].is_null()
    if unknown.any():
        strangers = pl.concat([end.filter(row.is_null()).cast(pl.String) for end, row in zip(given, rows, strict=True)])
        strangers = strangers.unique(maintain_order=True)
        notes.append(
            without_strangers(
                int(unknown.sum()), len(table), strangers, edges=table.name, nodes=nodes, drop_unknown=drop_unknown
            )
        )
    both = ~unknown
    kept = both.to_numpy()
    weights, kinds = None if weights is None else weights[kept], None if kinds is None else kinds.at(kept)
    return Pairs(rows[0].filter(both).to_numpy(), rows[1].filter(both).to_numpy(), weights, kinds), notes


def without_strangers(
    unknown: int, links: int, strangers: pl.Series, *, edges: str, nodes: Sequence[str], drop_unknown: bool
) -> str:
    """A note on edges that were dropped because an end is no node.

    Raises:
        InputError: they may not be dropped; some of the ids are named.
    """
    count = f"{unknown:,} of {links:,} edges"
    if drop_unknown:
        return f"{edges}: {count} dropped: an end is not in {' or '.join(nodes)}"
    hint = " Blanks around an id are part of it." if (strangers.str.strip_chars() != strangers).any() else ""
    lack = f"{nodes[0]} does not have" if len(nodes) == 1 else f"neither {' nor '.join(nodes)} has"
    known = [] if len(nodes) > 1 else [f"pass the table of those that are known ({option('context')})"]
    raise InputError(
        f"{edges}: {count} point to ids that {lack} ({quoted(strangers)}).{hint}"
        + remedies("add these nodes", *known, f"pass {option('drop_unknown', True)}")
    )


def end_columns(
    table: Table,
    source: str | None,
    target: str | None,
    *,
    before: tuple[str, str] | None = None,
    directed: bool = False,
) -> tuple[str, str]:
    """The columns of both ends: the named ones, those of the table `before`, `source` and `target`, or the first two.

    A model that was trained with one pair of columns never takes another pair while both are there, and directed edges
    never take columns of other names unless the user says which is which.
    """
    if before is not None and {*before} <= {*table.columns}:
        if (source or before[0], target or before[1]) != before:
            where = f"{table.name}: the model's edges lead from '{before[0]}' to '{before[1]}', which are here, too"
            raise InputError(f"{where}; leave {option('source')} and {option('target')} out.")
        return before
    if len(table.columns) < 2:
        columns = f"one column only ({quoted(table.columns)})" if table.columns else "no columns"
        raise InputError(f"{table.name}: {columns}; edges need a source and a target.")
    absent = [column for column in (source, target) if column is not None and column not in table.columns]
    if absent:
        raise InputError([table.missing(column) for column in absent])
    if source is None and target is None and not {"source", "target"} <= set(table.columns):
        if before is not None and directed and has_header(table):
            where = f"{table.name}: the model's edges lead from '{before[0]}' to '{before[1]}', which are not here"
            raise InputError(f"{where}; say which columns are, with {option('source')} and {option('target')}.")
        first, second = islice(table.columns, 2)
        return first, second
    ends = source or "source", target or "target"
    absent = [column for column in ends if column not in table.columns]
    if absent:
        raise InputError([table.missing(column) for column in absent])
    if ends[0] == ends[1]:
        raise InputError(f"{table.name}: source and target are the same column, '{ends[0]}'.")
    return ends


def has_header(table: Table) -> bool:
    """Whether the columns have names of their own; those of an edge list without a header are numbered."""
    return list(islice(table.columns, 2)) != ["column_1", "column_2"]


def _rows(ends: list[pl.Series], ids: Sequence[str]) -> list[pl.Series]:
    """The row of the node at each end, null where there is none.

    Integers are looked up as such, several times quicker than as texts: an id is the text of an integer if the integer
    that it is read as is written like it.
    """
    names = pl.Series(ids, dtype=pl.String)
    numbers = names.cast(pl.Int64, strict=False)
    written_so = (numbers.cast(pl.String) == names).fill_null(value=False)
    numbers, rows = numbers.filter(written_so), written_so.arg_true().cast(pl.Int64)
    matched = []
    with track("Matching edges and nodes", total=len(ends)) as advance:
        for end in ends:
            if end.dtype in _INTEGERS:
                number = end.cast(pl.Int64)
                matched.append(number.replace_strict(numbers, rows, default=None, return_dtype=pl.Int64))
            else:
                matched.append(places(end, names))
            advance(1)
    return matched


def _end_ids(table: Table, column: str, ids: Sequence[str]) -> pl.Series:
    """Ids as integers or texts; whole numbers written as floats become what they are, unless the ids are written so."""
    series, where = table.frame[column], f"{table.name}: column '{column}'"
    if series.dtype in _INTEGERS:
        return series
    if series.dtype.is_float():
        return whole_texts(series.fill_nan(None), where)
    texts = as_texts(series)
    if texts is None:
        raise InputError(f"{where}: {series.dtype} values can't be ids.")
    if texts.str.contains(r"[.eE]").any() and all(_NUMBER.fullmatch(value) for value in texts.head(100).drop_nulls()):
        numbers = texts.cast(pl.Float64, strict=False)
        if numbers.null_count() == texts.null_count() and not set(texts.head(100)) & set(ids):
            return whole_texts(numbers, where)
    return texts


def _without_comments(text: bytes) -> tuple[bytes, int]:
    """Without the comment lines at the top, and how many they were."""
    count = 0
    while text[:1] in (b"#", b"%", b"\n"):
        line, _, text = text.partition(b"\n")
        count += bool(line)
    return text, count


def _separator(line: str, given: str | None, path: Path) -> str:
    """What is between the cells of the first line; one that is not in it was meant for the node table."""
    if given is not None and (not given or given in line):
        return given
    signs = [sign for sign in ",;|" if sign in line]
    if not signs and len(line.split()) > 1:
        return " "
    return signs[0] if len(signs) == 1 else given or usual_separator(path)


def _single_blanks(text: bytes) -> bytes:
    """One blank between the cells of a line, none around them."""
    text = text.replace(b"\t", b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text.replace(b"\n ", b"\n").replace(b" \n", b"\n").strip(b" ")


def _is_data(line: str, separator: str, ids: tuple[str, ...] | None, name: str) -> bool:
    """Whether the first line is an edge: two numbers, or two ids. One id beside something else is a riddle: refused."""
    cells = [cell.strip().strip('"') for cell in line.split(separator if separator.strip() else None)][:2]
    if len(cells) < 2 or cells == ["source", "target"]:
        return False
    if all(_NUMBER.fullmatch(cell) for cell in cells):
        return True
    known = [cell for cell in cells if ids is not None and cell in ids]
    if len(known) == 1:
        raise InputError(
            f"{name}: the first line ({quoted(cells)}) names the node '{known[0]}': is it a header or an edge? "
            "Put the header 'source' and 'target' above it."
        )
    return len(known) == 2
