"""Figure 3: how did training go? Losses of each phase, validation utility and gaps, and the epoch that was kept."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from fairview.report.documents import EpochLine
from fairview.report.figures.charts import Series, Values, curves, known, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import distinct, listed, main_gaps, metric_name, number, plural

MOST_POINTS, MOST_ROWS, MOST_LOSSES = 300, 120, 6
_UTILITY = ("auc", "balanced_accuracy")


def figure(content: Content) -> Figure | None:
    """Of the run whose details are shown."""
    run = content.run
    if run is None:
        return None
    whose = f" ({run.name} of {len(content.runs)} runs)" if len(content.runs) > 1 else ""
    by_loss = run.record is not None and run.record.parameters.get("selection") == "loss"
    return training_figure(run.history, run.record.best_epoch if run.record else None, whose, by_loss=by_loss)


def training_figure(
    history: Sequence[EpochLine], kept: int | None, whose: str = "", *, by_loss: bool = False
) -> Figure | None:
    """Three panels over the epochs."""
    if not history:
        return None
    rule = "the lowest loss" if by_loss else "the best trade-off of usefulness and gaps"
    epochs = thinned(history, MOST_POINTS, kept)
    gaps = main_gaps()
    losses = list(dict.fromkeys(name for epoch in history for name in epoch.loss))[:MOST_LOSSES]
    labels = dict(zip(losses, distinct(losses, limit=40), strict=True))
    loss = [
        {"series": labels[name], "epoch": e.epoch, "value": e.loss[name]}
        for e in epochs
        for name in losses
        if name in e.loss
    ]
    panels = [
        _panel("training-loss", "Loss of each phase", "loss", known(loss, "value"), kept, logarithmic=True),
        _panel("training-utility", "Usefulness on validation nodes", "value", _metrics(epochs, _UTILITY), kept),
        _panel("training-gaps", "Gaps on validation nodes", "gap (0 = equal)", _metrics(epochs, gaps), kept, zero=True),
    ]
    rows = [
        (
            f"{epoch.epoch:,}" + (" (kept)" if epoch.epoch == kept else ""),
            *(number(epoch.loss.get(name), 4) if epoch.loss.get(name) is not None else "–" for name in losses),
            *(number(epoch.val.value(metric)) for metric in (*_UTILITY, *gaps)),
        )
        for epoch in thinned(history, MOST_ROWS, kept)
    ]
    columns = ("epoch", *(f"{label} loss" for label in labels.values()), *map(metric_name, (*_UTILITY, *gaps)))
    some = f", {len(rows)} of {len(history):,}" if len(rows) < len(history) else ""
    return Figure(
        key="training",
        heading="How did training go?",
        reading=f"One step to the right is one epoch{whose}. The dashed line marks the epoch that was kept, with "
        f"{rule} on the validation nodes. "
        "Curves that still move a lot around it mean that the choice depends on luck.",
        panels=tuple(panel for panel in panels if panel is not None),
        tables=(FigureTable(f"Epochs{some}", columns, rows),),
    )


def thinned(history: Sequence[EpochLine], most: int, kept: int | None) -> list[EpochLine]:
    """At most about `most` epochs, evenly; the first, the last and the kept one are among them."""
    step = max(1, -(-len(history) // most))
    last = len(history) - 1
    return [epoch for place, epoch in enumerate(history) if place % step == 0 or place == last or epoch.epoch == kept]


def _metrics(epochs: Sequence[EpochLine], metrics: Sequence[str]) -> Values:
    values = [
        {"series": metric_name(metric), "epoch": epoch.epoch, "value": epoch.val.value(metric)}
        for metric in metrics
        for epoch in epochs
    ]
    return known(values, "value")


def _panel(
    key: str,
    title: str,
    y_title: str,
    values: Values,
    kept: int | None,
    *,
    logarithmic: bool = False,
    zero: bool = False,
) -> Panel | None:
    if not values:
        return None
    series = Series(list(dict.fromkeys(row["series"] for row in values)), symbol="stroke")
    if logarithmic and all(row["value"] > 0 for row in values):
        scale, y_title = alt.Scale(type="log"), f"{y_title} (logarithmic)"
    else:
        scale = alt.Scale(zero=zero)
    x = alt.X("epoch:Q", title="epoch", scale=alt.Scale(nice=False))
    y = alt.Y("value:Q", title=y_title, scale=scale, axis=alt.Axis(tickCount=5))
    tips = [alt.Tooltip("series:N", title=""), alt.Tooltip("epoch:Q", title="epoch"), *tip(value=y_title)]
    lines = curves(values, x, y, tips, series, spot=60, strokeWidth=1.6)
    marked = [rule(kept, f"kept: {kept}")] if kept else []
    last = {row["series"]: row["value"] for row in values}
    ends = listed([f"{name} {number(value)}" for name, value in last.items()], 6)
    epochs = plural(int(max(row["epoch"] for row in values)), "epoch")
    text = f"{title} over {epochs}{f', epoch {kept} kept' if kept else ''}. At the end: {ends}."
    return Panel(key, title, text, layered(*marked, *lines, height=230))
