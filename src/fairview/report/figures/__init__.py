"""Which figures does this content have? Each is a pure function of a document; what is not known is left out."""

from __future__ import annotations

from collections.abc import Iterator

from fairview.report.documents import Kept, Row
from fairview.report.figures.charts import Figure
from fairview.report.figures.differences import comparison_figure
from fairview.report.figures.group_outcomes import groups_figure
from fairview.report.figures.leak import leak_figure
from fairview.report.figures.masks import mask_figure
from fairview.report.figures.probes import probe_figure
from fairview.report.figures.threshold_curve import thresholds_figure
from fairview.report.figures.tradeoff import compared_points, model_points, tradeoff_figure
from fairview.report.figures.training import training_figure
from fairview.report.folder import Content

__all__ = ["Figure", "figures_of"]


def figures_of(content: Content) -> list[Figure]:
    """In the order of the page."""
    return [figure for figure in _all(content) if figure is not None]


def _all(content: Content) -> Iterator[Figure | None]:
    audit, run = content.audit, content.run
    model = audit.model if audit else None
    sensitive = audit.graph.sensitive if audit and audit.graph.sensitive else "the sensitive attribute"
    if content.comparison is not None:
        spread = "95% intervals over splits and seeds"
        yield tradeoff_figure(compared_points(content.comparison), spread)
        yield comparison_figure(content.comparison)
    if audit is not None:
        yield leak_figure(audit)
        yield mask_figure(_kept(content), sensitive)
        yield probe_figure(audit)
    if content.comparison is None:
        yield tradeoff_figure(model_points(_rows(content)), "95% intervals over the tested nodes")
    test = run.test if run else None
    groups = (model.groups if model else []) or (test.groups if test else [])
    if model is not None:
        yield groups_figure(groups, model.scores, model.calibration, model.roc, sensitive)
        yield thresholds_figure(model.thresholds) if model.thresholds else None
    else:
        yield groups_figure(groups, [], [], [], sensitive)
    if run is not None:
        whose = f" ({run.name} of {len(content.runs)} runs)" if len(content.runs) > 1 else ""
        yield training_figure(run.history, run.record.best_epoch if run.record else None, whose)


def _kept(content: Content) -> list[Kept]:
    """From the audit, or put together from the run's masks and the graph's correlations."""
    audit, run = content.audit, content.run
    if audit is not None and audit.model is not None and audit.model.keep:
        return audit.model.keep
    masks = run.record.keep_probability if run is not None and run.record is not None else None
    if audit is None or not masks:
        return []
    return [
        Kept(
            name=channel.name,
            keep_probability=masks[channel.name],
            correlation_before=channel.correlation[0],
            correlation_after=channel.correlation[-1],
        )
        for channel in audit.channels
        if channel.name in masks
    ]


def _rows(content: Content) -> list[Row]:
    """The model, or each seed of it, and what it is compared with."""
    model = content.audit.model if content.audit else None
    others = list(model.rows) if model else []
    runs = [(run, test) for run in content.runs if (test := run.test) is not None]
    if len(runs) > 1:
        return [test.model_copy(update={"name": run.name}) for run, test in runs] + others[1:]
    if others:
        return others
    return [test.model_copy(update={"name": run.record.method if run.record else "model"}) for run, test in runs]
