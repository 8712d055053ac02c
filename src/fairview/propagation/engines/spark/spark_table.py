"""What is a table in Spark? A DataFrame with the name that messages call it by, and columns that are told by place.

Spark takes `Age` and `age` for one column, and a dot in a name for a path into it. So the columns are called c0, c1,
... as soon as they come in, and their own names are kept beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - as all PySpark code calls it
from pyspark.sql import types as T  # noqa: N812

from fairview.data.tables.cells import Table, check_header
from fairview.data.tables.columns import whole_texts
from fairview.errors import InputError

_TEXTS = (T.StringType, T.IntegralType, T.BooleanType, T.DateType)
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class SparkTable:
    """A table that lies in Spark.

    Attributes:
        name: what messages call it.
        frame: with the columns c0, c1, ...
        columns: their own names.
    """

    name: str
    frame: Any
    columns: tuple[str, ...]

    @classmethod
    def of(cls, frame: Any, name: str) -> SparkTable:
        """A DataFrame as a table.

        Raises:
            InputError: it is none, or two columns have the same name.
        """
        if not hasattr(frame, "toDF") or not hasattr(frame, "schema"):
            raise InputError(f"{name}: expected a Spark DataFrame, got {type(frame).__name__}.")
        columns = tuple(frame.columns)
        check_header(columns, name)
        return cls(name, frame.toDF(*[f"c{place}" for place in range(len(columns))]), columns)

    def column(self, name: str) -> Any:
        """A column, by its own name."""
        return F.col(f"c{self.columns.index(name)}")

    def kind(self, name: str) -> Any:
        """The Spark type of a column."""
        return self.frame.schema[self.columns.index(name)].dataType

    @cached_property
    def empty(self) -> Table:
        """The columns with their types and no rows, as the rest of the library knows tables."""
        from pyspark.sql.pandas.types import to_arrow_schema

        frame = pl.DataFrame(pl.from_arrow(to_arrow_schema(self.frame.schema).empty_table()))
        frame.columns = list(self.columns)
        return Table(self.name, frame)

    def ids(self, name: str) -> Any:
        """A column of ids as exact texts, null where empty; whole numbers that are written as floats are whole.

        Raises:
            InputError: its type can't be that of ids.
        """
        kind, cell = self.kind(name), self.column(name)
        if isinstance(kind, T.FractionalType) and not isinstance(kind, T.DecimalType):
            return F.when(~F.isnan(cell), cell.cast("bigint").cast("string"))
        if not isinstance(kind, _TEXTS):
            dtype = self.empty.frame[name].dtype
            raise InputError(f"{self.name}: column '{name}': {dtype} values can't be ids; use texts or whole numbers.")
        return F.nullif(cell.cast("string"), F.lit(""))

    def check_whole(self, name: str) -> None:
        """Ids that are floats must be whole numbers."""
        kind, cell = self.kind(name), self.column(name)
        if not isinstance(kind, T.FractionalType) or isinstance(kind, T.DecimalType):
            return
        odd = ~F.isnan(cell) & ((cell != F.round(cell)) | (F.abs(cell) >= _LARGEST_WHOLE))
        first = self.frame.filter(odd).select(cell.cast("double")).head()
        if first is not None:
            whole_texts(pl.Series([first[0]]), f"{self.name}: column '{name}'")
