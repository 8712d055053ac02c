"""What does the paper print? Tables 1 to 6 as data (`numbers.toml`), in percent, and what they say of themselves."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from fairview.study.statistics import GAPS, UTILITY, ranks
from fairview.undefined import Metric

PAPER_METRICS = UTILITY + GAPS


@dataclass(frozen=True)
class Number:
    """A printed number in percent; `std` is None where no deviation is printed."""

    mean: float
    std: float | None = None

    @classmethod
    def read(cls, text: str) -> Number:
        """From the cell as printed.

        Example:
            >>> Number.read("72.41±2.10"), Number.read("9.60")
            (Number(mean=72.41, std=2.1), Number(mean=9.6, std=None))
        """
        mean, sign, std = text.partition("±")
        return cls(float(mean), float(std) if sign else None)


Printed = Mapping[str, Number]
"""A row of a table, by metric."""


def paper_dataset(dataset: str) -> str | None:
    """What the paper calls a dataset of ours; None if the paper did not use it.

    Example:
        >>> paper_dataset("credit-large"), paper_dataset("credit-small"), paper_dataset("bail-no-time")
        ('credit', None, None)
    """
    return {"german": "german", "bail": "bail", "credit-large": "credit"}.get(dataset)


def printed_row(table: str, dataset: str, encoder: str, row: str) -> Printed | None:
    """A row of Table 1, 3, 4, 5 or 6; None where the paper has none.

    Args:
        table: `table1` and so on.
        dataset: in the paper's words: `german`, `credit`, `bail`.
        encoder: `mlp`, `gcn`, `gin` or `sage`.
        row: the method, strategy or variant.

    Example:
        >>> printed_row("table3", "german", "gcn", "fairvgnn")["statistical_parity_gap"]
        Number(mean=1.71, std=1.68)
    """
    whole = numbers()[table]
    text = whole.get(dataset, {}).get(encoder, {}).get(row)
    if text is None:
        return None
    return dict(zip(whole["columns"], map(Number.read, text.split()), strict=True))


def statistics(dataset: str) -> Mapping[str, Any]:
    """Table 2 of a dataset in the paper's words."""
    sizes: Mapping[str, Any] = numbers()["table2"][dataset]
    return sizes


def printed_ranks() -> dict[tuple[str, str], float]:
    """(encoder, method) -> the printed average rank of Table 3."""
    ranks = numbers()["table3"]["rank"]
    return {(encoder, method): rank for encoder, rows in ranks.items() for method, rank in rows.items()}


def recomputed_ranks() -> dict[tuple[str, str], float]:
    """The same from the printed means, by the rule that comes nearest (`average_ranks`).

    Example:
        >>> round(recomputed_ranks()["sage", "fairvgnn"], 2), printed_ranks()["sage", "fairvgnn"]
        (3.0, 2.92)
    """
    keys = list(printed_ranks())
    tables = []
    for dataset in ("german", "credit", "bail"):
        rows = [printed_row("table3", dataset, *key) or {} for key in keys]
        tables.append([{metric: number.mean for metric, number in row.items()} for row in rows])
    return dict(zip(keys, average_ranks(tables), strict=True))


def average_ranks(datasets: Sequence[Sequence[Mapping[str, Metric]]]) -> list[float]:
    """Mean over datasets of (mean rank in AUC, F1 and accuracy + mean rank in the two gaps) / 2; 1 is the best.

    Args:
        datasets: of each dataset the metrics of every model, in the same order.

    Paper: "Avg. (Rank)" of Table 3. The rule is not stated; of those tried this one comes nearest to what is printed.

    Example:
        >>> one = dict(zip(PAPER_METRICS, (90, 80, 70, 5, 4)))
        >>> other = dict(zip(PAPER_METRICS, (80, 81, 60, 1, 2)))
        >>> [round(rank, 3) for rank in average_ranks([[one, other]])]
        [1.667, 1.333]
    """
    places = [[rank.average for rank in ranks(rows)] for rows in datasets]
    return [sum(of_model) / len(places) for of_model in zip(*places, strict=True)]


@cache
def numbers() -> dict[str, Any]:
    """The whole data file."""
    return tomllib.loads(resources.files(__package__).joinpath("numbers.toml").read_text(encoding="utf-8"))
