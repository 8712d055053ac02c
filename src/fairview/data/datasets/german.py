"""What is the German Credit graph, and how does it come out of the table that UCI publishes?

| | |
|---|---|
| nodes | 1,000 clients of a German bank |
| edges | 21,742 (24,970 directed pairs of similar clients; 22,242 as the papers count) |
| channels | 27, `Gender` among them, unscaled |
| label | `GoodCustomer`: 700 good, 300 bad |
| sensitive | `Gender`: 690 Male, 310 Female |
| homophily | 0.8048 of the edges join the same gender |
| published split | train 100, val 250, test 250 |

The package carries the UCI table alone. Every column of the table that the fair-GNN papers use is a code map of one of
its attributes, `CODES` below; the links follow from the columns by the threshold rule with t = 0.8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

import polars as pl

from fairview.data.datasets.entry import Dataset, Download
from fairview.data.datasets.published import FAIRVGNN, addresses, published_graph, similar_rows
from fairview.errors import InputError

if TYPE_CHECKING:
    from fairview.data.datasets.files import FoundFiles
    from fairview.data.graph import NodeGraph

UCI_SHA256 = "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"

NOT_CHANNELS = ("OtherLoansAtStore", "PurposeOfLoan")  # left out by the published runs: constant, and text

Codes = Mapping[str, int | str] | frozenset[str] | None
"""Values of an attribute's codes: by code; or 1 for the codes named and 0 for the others; or a number as it is."""


def _one_if(*codes: str) -> frozenset[str]:
    return frozenset(codes)


_NUMBER = None

CODES: Mapping[str, tuple[int, Codes]] = {
    # column of the benchmark: (UCI attribute, its codes' values)
    "GoodCustomer": (21, {"1": 1, "2": -1}),
    "Gender": (9, {"A91": "Male", "A92": "Female", "A93": "Male", "A94": "Male"}),  # A95, single women: no row has it
    "ForeignWorker": (20, _one_if("A202")),
    "Single": (9, _one_if("A93")),
    "Age": (13, _NUMBER),
    "LoanDuration": (2, _NUMBER),
    "PurposeOfLoan": (
        4,
        {
            "A40": "NewCar",
            "A41": "UsedCar",
            "A42": "Furniture",
            "A43": "Electronics",
            "A44": "HomeAppliances",
            "A45": "Repairs",
            "A46": "Education",
            "A48": "Retraining",
            "A49": "Business",
            "A410": "Other",
        },
    ),
    "LoanAmount": (5, _NUMBER),
    "LoanRateAsPercentOfIncome": (8, _NUMBER),
    "YearsAtCurrentHome": (11, _NUMBER),
    "NumberOfOtherLoansAtBank": (16, _NUMBER),
    "NumberOfLiableIndividuals": (18, _NUMBER),
    "HasTelephone": (19, _one_if("A192")),
    "CheckingAccountBalance_geq_0": (1, _one_if("A12", "A13")),
    "CheckingAccountBalance_geq_200": (1, _one_if("A13")),
    "SavingsAccountBalance_geq_100": (6, _one_if("A62", "A63", "A64")),
    "SavingsAccountBalance_geq_500": (6, _one_if("A63", "A64")),
    "MissedPayments": (3, _one_if("A30", "A31", "A32", "A34")),  # the other way round than its name: A33 is the delay
    "NoCurrentLoan": (3, _one_if("A31")),
    "CriticalAccountOrLoansElsewhere": (3, _one_if("A34")),
    "OtherLoansAtBank": (14, _one_if("A141")),
    "OtherLoansAtStore": (14, _one_if()),  # 0 for all, though loans at stores have a code, A142
    "HasCoapplicant": (10, _one_if("A102")),
    "HasGuarantor": (10, _one_if("A103")),
    "OwnsHouse": (15, _one_if("A152")),
    "RentsHouse": (15, _one_if("A151")),
    "Unemployed": (7, _one_if("A71")),
    "YearsAtCurrentJob_lt_1": (7, _one_if("A72")),
    "YearsAtCurrentJob_geq_4": (7, _one_if("A74", "A75")),
    "JobClassIsSkilled": (17, _one_if("A173", "A174")),
}


def german_table() -> pl.DataFrame:
    """The benchmark's table of 1,000 rows and 30 columns, derived from the bundled UCI table.

    Example:
        >>> german_table().select("GoodCustomer", "Gender", "Age", "LoanAmount").row(0)
        (1, 'Male', 67, 1169)
    """
    attributes = _uci_attributes()
    columns: dict[str, list[int] | list[int | str]] = {}
    for name, (number, codes) in CODES.items():
        raw = attributes[number - 1]
        if codes is _NUMBER:
            columns[name] = [int(value) for value in raw]
        elif isinstance(codes, frozenset):
            columns[name] = [int(code in codes) for code in raw]
        else:
            columns[name] = [codes[code] for code in raw]
    return pl.DataFrame(columns)


def german_edges(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The directed pairs of similar clients, 24,970 of them, and a note that says how they were found.

    Similarity counts all columns but the label and `NOT_CHANNELS`, with `Gender` as 0/1 and amount, age and duration
    scaled to [-1, 1]; the other columns are on about that scale already.
    """
    column = pl.col("LoanAmount", "Age", "LoanDuration")
    rows = table.drop("GoodCustomer", *NOT_CHANNELS).with_columns(
        (pl.col("Gender") == "Female").cast(pl.Float64),
        (column - column.min()) * 2 / (column.max() - column.min()) - 1,
    )
    return similar_rows(rows, threshold=0.8)


def load_german(_files: FoundFiles | None = None) -> NodeGraph:
    """The German Credit graph with its published split, from the bundled table.

    Example:
        >>> load_german()
        NodeGraph(1,000 nodes, 21,742 edges, 27 channels, sensitive 'Gender': Male 690, Female 310)
    """
    table = german_table()
    edges, note = german_edges(table)
    table = table.with_columns((pl.col("Gender") == "Female").cast(pl.Int64))
    notes, sha256 = ("table derived from UCI's codes", note), {"uci_german.data": UCI_SHA256}
    return published_graph(GERMAN, table, edges, *notes, sha256=sha256, drop=NOT_CHANNELS, scaling="none")


def _uci_attributes() -> list[tuple[str, ...]]:
    """The 21 columns of the UCI table, as texts."""
    content = resources.files(__package__).joinpath("uci_german.data").read_bytes().replace(b"\r\n", b"\n")
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != UCI_SHA256:
        raise InputError(f"uci_german.data: sha256 {sha256}, expected {UCI_SHA256}. Install fairview again.")
    return list(zip(*(line.split() for line in content.decode("ascii").splitlines()), strict=True))


GERMAN = Dataset(
    name="german",
    published={"edits": {"edge_threshold": 0.25}},
    title="German Credit",
    summary="1,000 clients of a German bank, linked if their accounts are similar; is the client a good credit risk?",
    nodes=1_000,
    edges=21_742,
    channels=27,
    label="GoodCustomer",
    classes=("bad", "good"),
    sensitive="Gender",
    groups=("Male", "Female"),
    homophily=0.8048,
    train_labels=100,
    licence="CC BY 4.0 (UCI table, Hans Hofmann); bundled with its attribution",
    harms=(
        "Loans of 1973 to 1975: nothing in it describes lending today.",
        "Gender is not recorded; it is read off a combined code of sex and marital status (A91 to A95). No row has the "
        "code of single women, and by the correction of Grömping (2019) one code mixes women who are not single with "
        "single men: the groups are partly wrong.",
        "Bad risks were oversampled to 30 %: rates are not those of the bank.",
        "`MissedPayments` is 0 for exactly the clients with delayed payments, and `OtherLoansAtStore` is 0 for all: "
        "column names don't always say what the codes say.",
        "The label is the bank's experience with loans it granted; who was refused is not in the data.",
        "Links are similarities of the same columns, gender included; nobody in it knows anybody.",
    ),
    citation=(
        "Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77. Graph: Agarwal, Lakkaraju, Zitnik (2021), NIFTY, UAI."
    ),
    downloads=(
        Download(
            name="german.zip",
            sha256="7f0707c34346539f5112f56085cff82cce98154763f124aeda05207b26789648",
            size=103_864,
            urls=addresses("dataset/german.zip", repository=FAIRVGNN),
        ),
    ),
    fetchable=True,
    load=load_german,
    table=lambda _files: german_table(),
)
"""German Credit."""
