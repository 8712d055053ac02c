"""Which datasets are known? Names never become paths or code: they are looked up in a registry."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairview.atomic import check_replaceable
from fairview.data.datasets import files
from fairview.data.datasets.bail import BAIL, BAIL_NO_TIME, BAIL_NO_TIME_LINKS
from fairview.data.datasets.credit import CREDIT_LARGE, CREDIT_SMALL
from fairview.data.datasets.entry import Dataset, Download
from fairview.data.datasets.fetch import addresses_of, fetch
from fairview.data.datasets.files import FoundFiles
from fairview.data.datasets.german import GERMAN
from fairview.data.graph import NodeGraph
from fairview.data.tables.archives import read_bytes
from fairview.data.tables.cells import Table, require_columns
from fairview.errors import InputError, Problems, in_one_line, option, quoted
from fairview.registry import Registry

if TYPE_CHECKING:
    import polars as pl

DATASETS = Registry(
    "dataset",
    Dataset,
    "fairview.datasets",
    [GERMAN, BAIL, BAIL_NO_TIME, BAIL_NO_TIME_LINKS, CREDIT_SMALL, CREDIT_LARGE],
)
"""All known datasets by name."""


def register_dataset(dataset: Dataset) -> Dataset:
    """Add a dataset: from then on it can be loaded, trained on, compared on and reported by name.

    Args:
        dataset: with a name of its own.

    Raises:
        InputError: the name is taken.
    """
    return DATASETS.register(dataset)


def dataset_names() -> tuple[str, ...]:
    """The names to load datasets by.

    Example:
        >>> dataset_names()
        ('german', 'bail', 'bail-no-time', 'bail-no-time-links', 'credit-small', 'credit-large')
    """
    return tuple(DATASETS)


def describe(name: str) -> Dataset:
    """What is known about a dataset: statistics, licence, known harms, citation.

    Example:
        >>> describe("german").licence
        'CC BY 4.0 (UCI table, Hans Hofmann); bundled with its attribution'
        >>> describe("germen")
        Traceback (most recent call last):
        ...
        fairview.errors.InputError: no dataset 'germen'. Did you mean 'german'?
    """
    return DATASETS[name]


def find_files(name: str, data_dir: str | Path | None = None) -> FoundFiles:
    """Whether a dataset is at hand, and where its files lie; see `fairview.data.datasets.files`."""
    return files.find_files(describe(name), data_dir)


def load_dataset(name: str, *, data_dir: str | Path | None = None) -> NodeGraph:
    """A known dataset as a graph, with the channels, scaling and split of the published runs.

    The sensitive attribute is among the channels, as published. `german` comes with the package; the others are looked
    up in `data_dir`, in the folder that the environment variable `FAIRVIEW_DATA` names, and in the user's cache.

    Raises:
        DataNotFoundError: the files are not at hand; the message says what to put where.
        InputError: no such dataset, or a file is not the one that its sha256 pins, or no table of the right columns.

    Example:
        >>> load_dataset("german")
        NodeGraph(1,000 nodes, 21,742 edges, 27 channels, sensitive 'Gender': Male 690, Female 310)
    """
    dataset = describe(name)
    at_hand = files.find_files(dataset, data_dir)
    at_hand.require()
    from polars.exceptions import PolarsError

    try:
        return dataset.load(at_hand)
    except (PolarsError, OSError) as error:  # OSError: compressed, and cut short
        raise InputError(f"{name}: its files are not the dataset's tables ({in_one_line(error)}).") from None


def table_columns(name: str, columns: Sequence[str], *, data_dir: str | Path | None = None) -> dict[str, pl.Series]:
    """Columns of a dataset's table, a value for each node: also those that the dataset leaves out of its channels.

    Raises:
        InputError: no such dataset or column.

    Example:
        >>> table_columns("german", ["PurposeOfLoan"])["PurposeOfLoan"][0]
        'Electronics'
    """
    dataset = describe(name)
    if dataset.table is None:
        raise InputError(f"{name}: the dataset has no table to read {quoted(columns)} from.")
    at_hand = files.find_files(dataset, data_dir)
    at_hand.require()
    table = Table(name, dataset.table(at_hand))
    problems = Problems()
    require_columns(table, columns, problems)
    problems.raise_if_any()
    return {column: table.frame[column] for column in columns}


def fetch_dataset(
    name: str, *, data_dir: str | Path | None = None, timeout: float = 30.0, overwrite: bool = False
) -> tuple[Path, ...]:
    """Download the files of a dataset into the first folder of its search path, unless they lie there already.

    They come from the authors' public repositories, or from `FAIRVIEW_MIRROR`; either way the sha256 is pinned.
    `credit-large` is never downloaded: its files are at hand, or it is an error. Another file under the name of one of
    them is replaced only with `overwrite`.

    Returns:
        Where the files lie.

    Raises:
        DataNotFoundError: it can't be downloaded; the message says what to put where.
        InputError: another file is in its place.
    """
    dataset = describe(name)
    if not dataset.fetchable:
        at_hand = files.find_files(dataset, data_dir)
        at_hand.require()  # says which file must come by other means
        return tuple(dict.fromkeys(place.path for place in at_hand.places.values()))
    folder = files.search_path(data_dir)[0]
    missing = [download for download in dataset.downloads if not _lies_there(folder / download.name, download)]
    for target in (folder / download.name for download in missing):
        check_replaceable(target)
        if target.exists() and not overwrite:
            raise InputError(
                f"{target}: exists, and is not the file of {name}. Move it away, or pass {option('overwrite', True)} "
                "to replace it."
            )
    for download in missing:
        addresses = addresses_of(download.name, download.urls)
        fetch(addresses, folder / download.name, sha256=download.sha256, limit=download.size, timeout=timeout)
    return tuple(folder / download.name for download in dataset.downloads)


def _lies_there(target: Path, download: Download) -> bool:
    try:
        return (
            target.is_file() and hashlib.sha256(read_bytes(target, limit=download.size)).hexdigest() == download.sha256
        )
    except InputError:  # too large, or not readable: not the file we want
        return False
