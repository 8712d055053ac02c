"""How does an explanation look in a notebook, and as tables?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairview import notebook
from fairview.errors import InputError, did_you_mean
from fairview.explanation.explanation import Explanation
from fairview.explanation.sentences import groups_of, summary

if TYPE_CHECKING:
    import polars as pl

_NAMES = {"node", "channel", "kind", "group", "chosen"}
_COUNTS = {"k", "draws"}
_COLUMNS = {
    "nodes": ("node", "effect", "links", "group"),
    "channels": ("channel", "gap", "home", "links"),
    "kinds": ("kind", "links", "gap", "effect"),
    "removed": (
        *("k", "chosen", "draws", "gap_before", "gap_after"),
        *("statistical_parity_gap_before", "statistical_parity_gap_after", "accuracy_before", "accuracy_after"),
    ),
}


def explanation_frame(found: Explanation, table: str) -> pl.DataFrame:
    """See `Explanation.to_frame`."""
    import polars as pl

    if table == "links":
        every, ids = found.every, pl.Series(found.every.ids, dtype=pl.String)
        ends = {"source": ids.gather(every.source), "target": ids.gather(every.target)}
        frame = pl.DataFrame(ends | {"effect": every.effect})
        if every.kinds is not None:
            frame = frame.with_columns(kind=pl.Series(every.kinds.names, dtype=pl.String).gather(every.kinds.codes))
        return frame.sort("effect", descending=True, maintain_order=True)
    if table not in _COLUMNS:
        raise InputError(f"to_frame: no table '{table}'.{did_you_mean(str(table), ['links', *_COLUMNS])}")
    return pl.DataFrame(found.to_dict().get(table, []), schema={name: _type(table, name) for name in _COLUMNS[table]})


def _type(table: str, column: str) -> Any:
    import polars as pl

    if column in _NAMES:
        return pl.String
    return pl.Int64 if column in _COUNTS or (column == "links" and table != "channels") else pl.Float64


def explanation_html(found: Explanation) -> str:
    """The gap first, then what removal does, then links, nodes and channels."""
    document = found.to_dict()
    removed = [
        [
            row["k"],
            row["chosen"],
            row["gap_after"],
            row["statistical_parity_gap_after"],
            row["accuracy_after"],
        ]
        for row in document["removed"]
    ]
    before = found.removed[0].to_dict() if found.removed else {}
    if before:
        now = [before[f"{name}_before"] for name in ("gap", "statistical_parity_gap", "accuracy")]
        removed.insert(0, [0, "", *now])
    kind = ["kind"] if "kinds" in document else []
    links = [
        [f"{row['source']} – {row['target']}", groups_of(row), *(row[name] for name in kind), row["effect"]]
        for row in document["links"]
    ]
    nodes = [[row["node"], row["group"], row["links"], row["effect"]] for row in document["nodes"]]
    channels = [[row["channel"], row["gap"], row["home"], row["links"]] for row in document["channels"]]
    kinds = [[row["kind"], row["links"], row["gap"], row["effect"]] for row in document.get("kinds", [])]
    return notebook.block(
        f"Explanation of {found.method}{f' ({found.encoder})' if found.encoder else ''} on {found.graph['source']}",
        *map(notebook.paragraph, summary(document)),
        notebook.table(
            ["links removed", "chosen", "gap in the mean logit", "statistical parity gap", "accuracy"],
            removed,
            caption=f"Without some links, no refit; metrics on {found.evaluated}",
        ),
        notebook.table(["link", "groups", *kind, "effect"], links, caption="Links that widen the gap most", most=8),
        notebook.table(["node", "group", "links", "effect"], nodes, caption="Nodes whose links widen it most", most=8),
        notebook.table(
            ["kind of links", "links", "part of the gap", "effect"], kinds, caption="Parts of the gap by kind of links"
        ),
        notebook.table(
            ["channel", "part of the gap", "own value", "over links"], channels, caption="Parts of the gap", most=8
        ),
        notebook.notes([*found.notes, *(f"{name} is undefined: {why}" for name, why in found.undefined.items())]),
    )
