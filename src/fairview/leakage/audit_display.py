"""How do audits look in a notebook, and as tables?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairview import notebook
from fairview.leakage.outcomes import RATES
from fairview.leakage.sentences import by_attribute, left_out, path, strongest, summary
from fairview.metrics.evaluation_display import undefined_sentences
from fairview.metrics.registry import METRICS, gap_names
from fairview.undefined import plain

if TYPE_CHECKING:
    import polars as pl

    from fairview.leakage.findings import ChannelFinding, GraphAudit
    from fairview.leakage.model_findings import ModelAudit


def graph_audit_html(audit: GraphAudit) -> str:
    """The headline first, then the strongest channels and the probes."""
    document = audit.to_dict()
    hidden = [
        [
            column.name,
            column.measure,
            *(f"{part.score:z.3f} ({part.low:z.3f} to {part.high:z.3f})" for part in parts),
            "known to the links" if column.readable else "",
        ]
        for column in audit.hidden
        if (parts := [part for part in (column.from_channels, column.from_graph, column.difference) if part])
    ]
    reasons = [f"{name} is undefined: {reason}" for name, reason in audit.undefined.items()]
    for name, part in audit.attributes.items():
        reasons += [f"{name}: {what} is undefined: {reason}" for what, reason in part.undefined.items()]
    return notebook.block(
        f"GraphAudit of {audit.graph['source']}: {audit.graph['nodes']:,} nodes, {audit.graph['edges']:,} links",
        *map(notebook.paragraph, summary(document)),
        *(table for part in by_attribute(document).values() for table in _tables(part)),
        notebook.table(
            ["hidden column", "measure", "from the columns", "from columns and links", "difference", "verdict"],
            hidden,
            caption="How well hidden columns can be read, with 95 % intervals",
        ),
        notebook.notes([*filter(None, [left_out(document["channels"])]), *reasons, *audit.notes]),
    )


def _tables(document: Mapping[str, Any]) -> list[str]:
    """The strongest channels and the probes, by one sensitive attribute."""
    sensitive = document["graph"]["sensitive"]
    channels = [
        [label, path(channel["correlation"]), _smallest(channel["leak_p_value"]), _verdict(channel)]
        for label, channel in strongest(document["channels"])
    ]
    probes = [
        [probe["on"], probe["probe"], probe["auc"], notebook.interval(probe["low"], probe["high"])]
        for probe in document["probe"]
        if probe["auc"] is not None
    ]
    return [
        notebook.table(
            ["channel", "correlation by hop", "p-value of the leak", "verdict"],
            channels,
            caption=f"Correlation with {sensitive} over {document['hops']} hops of {document['operator']}",
        ),
        notebook.table(
            ["probe of", "probe", "AUC", "95 % interval"],
            probes,
            caption=f"How well all channels together tell {sensitive}; 0.5 is chance",
        ),
    ]


def graph_audit_frame(audit: GraphAudit) -> pl.DataFrame:
    """One row per channel and hop; see `GraphAudit.to_frame`."""
    import polars as pl

    numbers = ("correlation", "low", "high", "p_value", "leak_p_value")
    schema: dict[str, Any] = {"channel": pl.String, "hop": pl.Int64} | dict.fromkeys(numbers, pl.Float64)
    rows = [row for channel in audit.channels for row in _hops(channel)]
    return pl.DataFrame(rows, schema=schema | {"leaking": pl.Boolean, "sensitive": pl.Boolean})


def model_audit_html(audit: ModelAudit) -> str:
    """The model beside what it is compared with, then the groups."""
    metrics = [name for name in METRICS if METRICS[name].in_tables]
    rows = [[name, *(plain(evaluation[metric]) for metric in metrics)] for name, evaluation in audit.rows.items()]
    evaluated = next(iter(audit.rows.values()))
    gaps = [[name, *(plain(part[gap]) for gap in gap_names())] for name, part in evaluated.attributes.items()]
    by_group = [group for part in audit.attributes.values() for group in part.groups] + list(audit.groups)
    groups = [
        [group.group, group.nodes, *(str(getattr(group, rate)) for rate in RATES), "yes" if group.small else "no"]
        for group in by_group
    ]
    keep = sorted(audit.keep or (), key=lambda channel: channel.keep_probability)
    kept = [[each.name, each.keep_probability, each.correlation_before, each.correlation_after] for each in keep]
    probes = [
        [each.model, each.probe, plain(each.auc), notebook.interval(each.low, each.high)]
        for each in audit.representations
    ]
    encoder = f" ({audit.encoder})" if audit.encoder else ""
    return notebook.block(
        f"ModelAudit of {audit.method}{encoder} on {evaluated.nodes:,} nodes of the split '{audit.split}'",
        notebook.table(
            ["model", *(METRICS[metric].short for metric in metrics)],
            rows,
            caption="Metrics as fractions; a gap of 0 means equal",
        ),
        notebook.table(
            ["attribute", *(METRICS[gap].short for gap in gap_names())],
            gaps,
            caption="Gaps by sensitive attribute; above is the largest of them",
        ),
        notebook.table(
            ["group", "nodes", *(rate.replace("_", " ") for rate in RATES), "too small to judge"],
            groups,
            caption="Groups, with 95 % intervals",
        ),
        notebook.table(
            ["channel", "keep probability", "|correlation| before", "after one hop"],
            kept,
            caption="Learnt masks, the least kept channels first",
            most=8,
        ),
        notebook.table(
            ["representations of", "probe", "AUC", "95 % interval"],
            probes,
            caption="How well the sensitive attribute is read off the representations; 0.5 is chance",
        ),
        notebook.notes([*undefined_sentences(evaluated), *audit.notes]),
    )


def _hops(channel: ChannelFinding) -> list[dict[str, Any]]:
    count = channel.hops + 1
    names = ("correlation", "low", "high", "p_value")
    by_hop = {name: getattr(channel, name) or (None,) * count for name in names}
    by_hop["leak_p_value"] = (None, *(channel.leak_p_value or (None,) * channel.hops))
    verdicts = {"leaking": channel.leaking, "sensitive": channel.sensitive}
    return [
        {"channel": channel.name, "hop": hop} | {name: values[hop] for name, values in by_hop.items()} | verdicts
        for hop in range(count)
    ]


def _smallest(values: Sequence[float | None] | None) -> float | None:
    return min((value for value in values or () if value is not None), default=None)


def _verdict(channel: Mapping[str, Any]) -> str:
    if channel["sensitive"]:
        return "the sensitive attribute itself"
    return "flagged" if channel["leaking"] else "constant" if channel["constant"] else ""
