"""What are the Bail graphs, and why are there two without `TIME`?

| | `bail` | `bail-no-time` | `bail-no-time-links` |
|---|---|---|---|
| nodes | 18,876 people released from prison in North Carolina | the same | the same |
| edges | 311,870 (403,977 directed pairs of similar records; 321,308 as papers count) | the same | 336,215 (458,801) |
| channels | 18, `WHITE` among them; min-max to [-1, 1] but for `WHITE` | 17, without `TIME` | 17 |
| label | `RECID`: 7,104 returned to prison, 11,772 did not | the same | the same |
| sensitive | `WHITE`: 9,317 Black (0), 9,559 not Black (1) | the same | the same |
| homophily | 0.5221 of the edges join the same group | the same | 0.5208 |
| published split | train 100, val 4,719, test 4,719 | the same | the same |

`TIME` is the number of months until the return to prison, and 0 without one: `TIME > 0` equals the label on 18,762 of
18,876 rows. A model that reads it knows the answer. `bail` keeps it, as published; `bail-no-time` drops the channel.
The links of both are the published ones, in which `TIME` counts among the similarities; the edge file is optional,
because the threshold rule with t = 0.6 on the unscaled columns gives the same pairs. So the links of `bail-no-time`
still know `TIME` (docs/audit.md). `bail-no-time-links` has neither: its links are rebuilt by the same rule without
`TIME`. It is the honest task.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from fairview.data.datasets.entry import DataFile, Dataset, Download
from fairview.data.datasets.published import FAIRVGNN, addresses, published_graph, read_edge_file, similar_rows

if TYPE_CHECKING:
    from fairview.data.datasets.files import FoundFiles
    from fairview.data.graph import NodeGraph


def bail_table(files: FoundFiles) -> pl.DataFrame:
    """The table as circulated, a row for each node."""
    return pl.read_csv(files.read("bail.csv"))


def load_bail(files: FoundFiles, *, drop: tuple[str, ...] = ()) -> NodeGraph:
    """The Bail graph with its published split, `TIME` and all; or without some channels, all else being equal."""
    table = bail_table(files)
    if "bail_edges.txt" in files:
        edges, note = read_edge_file(files.read("bail_edges.txt")), "links from bail_edges.txt"
    else:
        edges, note = similar_rows(table.drop("RECID"), threshold=0.6)
    return published_graph(files.dataset, table, edges, note, sha256=files.sha256(), drop=drop)


def load_bail_no_time_links(files: FoundFiles) -> NodeGraph:
    """The Bail graph without `TIME`, in the channels and in the links."""
    table = bail_table(files)
    edges, note = similar_rows(table.drop("RECID", "TIME"), threshold=0.6)
    return published_graph(files.dataset, table, edges, f"{note}, without TIME", sha256=files.sha256(), drop=("TIME",))


_SIMILAR = "Links are similarities of the same columns, race {} included; nobody in it knows anybody."
_HARMS = (
    "It holds no bail decisions: the rows are people released from prisons of North Carolina in 1977-78 and 1979-80, "
    "and the label is whether they came back to one of them by April 1984.",
    "Coming back is what police and courts did, not what people did; both treated Black and white people unequally, "
    "and prison elsewhere is not counted.",
    "`WHITE` is 0 for Black people and 1 for everybody else: Native American, Hispanic and Asian people count as "
    "white in it.",
    "Missing values pass as numbers: -9 `PRIORS` (1,347 people) and 0 `SCHOOL` (213) mean unknown; for the 8,519 "
    "records that lack something (`FILE` = 3) the codebook calls `ALCHY` and `JUNKY` meaningless.",
    "`FILE` is the archive's own division of the records, and `FOLLOW` the length of the follow-up; both are channels "
    "as published.",
)

_TABLE = DataFile(
    name="bail.csv",
    sha256="11a7c62be2b7aed7cb069624789755d5f57acc8b69580564e2401b084e2d5faf",
    limit=4_000_000,
    folder="bail",
    archives=("bail.zip",),
)
_EDGES = dataclasses.replace(
    _TABLE,
    name="bail_edges.txt",
    sha256="c43049fb5d9a0a994fcf4931fb34838716e4bf40e4ae30b9e504d9f4362ca0fe",
    limit=64_000_000,
    required=False,
)

BAIL = Dataset(
    name="bail",
    published={"edits": {"edge_threshold": 0.012}},
    title='Recidivism ("Bail")',
    summary="18,876 people released from prison, linked if their records are similar; did they return to prison?",
    nodes=18_876,
    edges=311_870,
    channels=18,
    label="RECID",
    classes=("not returned", "returned to prison"),
    sensitive="WHITE",
    groups=("Black", "not Black"),
    homophily=0.5221,
    train_labels=100,
    licence="not stated by the circulated files; the study is ICPSR 8987, under ICPSR's terms of use",
    harms=(
        "`TIME` is the label in disguise: `TIME > 0` equals `RECID` on 18,762 of 18,876 rows. Use "
        "`bail-no-time-links` unless you compare with published numbers.",
        *_HARMS,
        _SIMILAR.format("and `TIME`"),
    ),
    citation=(
        "Schmidt, P., Witte, A. D. (1988). Predicting Recidivism Using Survival Models. Springer. Data: Predicting "
        "Recidivism in North Carolina, 1978 and 1980 (ICPSR 8987). "
        "Graph: Agarwal, Lakkaraju, Zitnik (2021), NIFTY, UAI."
    ),
    files=(_TABLE, _EDGES),
    downloads=(
        Download(
            name="bail.zip",
            sha256="8b72929bbb2bcdeed16098120fcf995b66eeff6ac172c159d91f0b449265f062",
            size=2_112_180,
            urls=addresses("dataset/bail.zip", repository=FAIRVGNN),
        ),
    ),
    fetchable=True,
    load=load_bail,
    table=bail_table,
)
"""Bail as published."""

BAIL_NO_TIME = dataclasses.replace(
    BAIL,
    name="bail-no-time",
    title='Recidivism ("Bail") without TIME',
    channels=17,
    harms=(
        "`TIME`, the label in disguise, is not among the channels, but the published links were drawn with it and "
        "still know it (an audit with `TIME` hidden shows it). Use `bail-no-time-links` for the honest task.",
        *_HARMS,
        _SIMILAR.format("and `TIME`"),
    ),
    load=partial(load_bail, drop=("TIME",)),
)
"""Bail without the channel that gives the label away."""

BAIL_NO_TIME_LINKS = dataclasses.replace(
    BAIL_NO_TIME,
    name="bail-no-time-links",
    title='Recidivism ("Bail") without TIME, in channels and links',
    edges=336_215,
    homophily=0.5208,
    harms=(
        "`TIME`, the label in disguise, is neither among the channels nor in the links, which were rebuilt without it: "
        "results are not comparable with those on the published links.",
        *_HARMS,
        _SIMILAR.format("(but not `TIME`)"),
    ),
    files=(_TABLE,),
    load=load_bail_no_time_links,
)
"""Bail whose links do not know the channel that gives the label away."""
