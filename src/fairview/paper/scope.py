"""How much of a table is run: which datasets, encoders, seeds and splits?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairview.data.datasets import load_dataset
from fairview.data.datasets.registry import DATASETS, find_files
from fairview.data.graph import NodeGraph
from fairview.errors import DataNotFoundError, InputError, Problems, did_you_mean
from fairview.methods.registry import METHODS

PAPER_DATASETS = ("german", "bail", "credit")
PAPER_ENCODERS = ("gcn", "gin", "sage")
QUICK_EPOCHS = 2
PUBLISHED_SEEDS = 5
WITHOUT = " without "
"""Between a dataset's name and the channel of it that is set to zero."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What was asked for.

    Attributes:
        datasets: names of known datasets; `credit` is the large graph if its files are at hand, else the small one.
        encoders: of those that a table has.
        methods: of those that a table has; all if None.
        seeds: runs seeds 1 to N (on each split).
        splits: 0 is the published split; N are N stratified ones.
        quick: two epochs per run: a smoke test whose numbers mean nothing.
        data_dir: where the datasets' files lie.
    """

    datasets: tuple[str, ...] = PAPER_DATASETS
    encoders: tuple[str, ...] = PAPER_ENCODERS
    methods: tuple[str, ...] | None = None
    seeds: int = PUBLISHED_SEEDS
    splits: int = 0
    quick: bool = False
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        problems = Problems()
        known = {"datasets": (*DATASETS, "credit"), "encoders": (*PAPER_ENCODERS, "mlp")}
        for what, names in known.items():
            for name in getattr(self, what):
                if name not in names:
                    problems.add(f"--{what} {name}: unknown.{did_you_mean(name, names)}")
            if not getattr(self, what):
                problems.add(f"--{what}: none given; expected some of {', '.join(names)}.")
        if self.seeds < 1 or self.splits < 0:
            problems.add(f"seeds {self.seeds}, splits {self.splits}: expected at least 1 and 0.")
        problems.raise_if_any()

    @property
    def suffix(self) -> str:
        """What the files of a table are called beside its name: results of other splits don't overwrite these.

        Example:
            >>> Scope().suffix, Scope(splits=10).suffix
            ('', '-10-splits')
        """
        return f"-{self.splits}-splits" if self.splits else ""

    @property
    def draws(self) -> list[tuple[int, int]]:
        """(split, seed) of every run of a cell.

        Example:
            >>> Scope(seeds=2).draws, Scope(seeds=1, splits=2).draws
            ([(0, 1), (0, 2)], [(1, 1), (2, 1)])
        """
        splits = range(1, self.splits + 1) if self.splits else (0,)
        return [(split, seed) for split in splits for seed in range(1, self.seeds + 1)]

    def at_hand(self, wanted: Sequence[str] = PAPER_DATASETS) -> list[str]:
        """Our names of those datasets of a table that were asked for and whose files are there.

        Example:
            >>> Scope(datasets=("german",)).at_hand(("german", "credit"))
            ['german']
        """
        wished = [resolved(name, self.data_dir) for name in self.datasets]
        table = {resolved(name, self.data_dir) for name in wanted} | set(wanted)
        table |= {"credit-small", "credit-large"} if "credit" in wanted else set()
        return [name for name in dict.fromkeys(wished) if name in table and is_at_hand(name, self.data_dir)]

    def missing(self) -> list[str]:
        """The datasets that were asked for and are not there."""
        return [name for name in self.datasets if not is_at_hand(resolved(name, self.data_dir), self.data_dir)]

    def chosen(self, encoders: Sequence[str]) -> list[str]:
        """Those encoders of a table that were asked for; the MLP, a yardstick, always."""
        return [name for name in encoders if name in self.encoders or name == "mlp"]

    def wants(self, method: str) -> bool:
        return self.methods is None or method in self.methods

    def graph(self, dataset: str) -> NodeGraph:
        """A dataset, or one with a channel set to zero (`german without Age`)."""
        name, _, channel = dataset.partition(WITHOUT)
        graph = load_dataset(name, data_dir=self.data_dir)
        if not channel:
            return graph
        features = graph.features.copy()
        features[:, graph.channel_index(channel)] = 0
        return graph.with_features(features).noting(f"{channel} set to 0")

    def settings(self, method: str, given: dict[str, Any]) -> dict[str, Any]:
        """A cell's settings as they are run: one selection rule unless declared, and two epochs for a smoke test."""
        known = METHODS[method].parameters
        settings = {name: value for name, value in given.items() if name != "encoder"}
        if "selection" in known:
            settings.setdefault("selection", "score")
        if self.quick:
            settings |= {name: QUICK_EPOCHS for name in known if name == "epochs" or name.endswith("_epochs")}
        return settings

    def with_(self, other: Mapping[str, Any]) -> Scope:
        """This and what an earlier call asked for, as `to_dict` gives it; in the paper's order, with the more seeds.

        Example:
            >>> Scope(datasets=("german",)).with_(Scope(datasets=("credit", "bail")).to_dict()).datasets
            ('german', 'bail', 'credit')
        """
        order = {"datasets": (*PAPER_DATASETS, *DATASETS), "encoders": (*PAPER_ENCODERS, "mlp")}
        wider: dict[str, Any] = {
            what: tuple(name for name in dict.fromkeys(names) if name in (*other[what], *getattr(self, what)))
            for what, names in order.items()
        }
        both = (other["methods"], self.methods)
        wider["methods"] = None if None in both else tuple(dict.fromkeys(name for part in both for name in part or ()))
        return dataclasses.replace(self, seeds=max(self.seeds, other["seeds"]), **wider)

    def to_dict(self) -> dict[str, Any]:
        return {name: list(v) if isinstance(v, tuple) else v for name, v in vars(self).items() if name != "data_dir"}


def resolved(dataset: str, data_dir: Path | None = None) -> str:
    """`credit` as the graph that is meant."""
    if dataset != "credit":
        return dataset
    return "credit-large" if is_at_hand("credit-large", data_dir) else "credit-small"


def is_at_hand(dataset: str, data_dir: Path | None = None) -> bool:
    """Whether a dataset's files are there."""
    try:
        find_files(dataset, data_dir).require()
    except (DataNotFoundError, InputError):
        return False
    return True
