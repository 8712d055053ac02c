"""What does the audit of a graph hold? Plain, frozen records, for reading and for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fairview.leakage.cross_validation import CrossValidated
from fairview.leakage.hidden_columns import HiddenFinding
from fairview.leakage.json_keys import BY_GROUP, OF_THE_GRAPH
from fairview.leakage.json_record import json_record
from fairview.leakage.label_leaks import LabelLeak
from fairview.leakage.places import GroupPlace
from fairview.undefined import Metric, Undefined

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ChannelFinding:
    """A channel over the hops 0..L; what is None could not be measured.

    Attributes:
        name: of the channel.
        sensitive: it holds the sensitive attribute itself, and is not tested.
        constant: it has one value only.
        hops: L.
        correlation: with the sensitive attribute, by hop.
        low: of the 95 % intervals, by hop.
        high: likewise.
        rank: by |correlation| among all channels, 1 is the strongest; ties go to the earlier channel.
        p_value: of |correlation|, this channel and hop alone.
        leak_p_value: by hop from 1 on: of association and growth, all channels and hops counted.
        leaking: the verdict.
    """

    name: str
    sensitive: bool
    constant: bool
    hops: int
    correlation: Numbers | None = None
    low: Numbers | None = None
    high: Numbers | None = None
    rank: tuple[int, ...] | None = None
    p_value: Numbers | None = None
    leak_p_value: Numbers | None = None
    leaking: bool = False

    @property
    def change(self) -> float | None:
        """|correlation| at the last hop minus that at hop 0."""
        return None if self.correlation is None else abs(self.correlation[-1]) - abs(self.correlation[0])

    @property
    def rank_change(self) -> int | None:
        """Places climbed from hop 0 to the last: above 0, it became stronger among the channels."""
        return None if self.rank is None else self.rank[0] - self.rank[-1]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the changes from the first hop to the last."""
        record = json_record(self) | {"change": self.change, "rank_change": self.rank_change}
        hops = record.pop("hops")
        return record if self.correlation is not None else record | {"correlation": [None] * (hops + 1)}


_EXPONENTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(hop: int) -> str:
    """X, S X, S² X, ..."""
    return "X" if hop == 0 else f"S{str(hop).translate(_EXPONENTS) if hop > 1 else ''} X"


@dataclass(frozen=True)
class ProbeFinding:
    """How well a probe reads the sensitive attribute off S^hop X without the sensitive channels."""

    on: str
    hop: int
    probe: str
    auc: float | None
    low: float | None = None
    high: float | None = None
    nodes: int | None = None

    @classmethod
    def of(cls, on: str, hop: int, probe: str, auc: CrossValidated | Undefined) -> ProbeFinding:
        if isinstance(auc, Undefined):
            return cls(on, hop, probe, None)
        return cls(on, hop, probe, auc.auc, auc.low, auc.high, auc.nodes)


@dataclass(frozen=True, kw_only=True, repr=False)
class GraphAudit:
    """What `fairview.leakage` found; `to_dict` is for JSON, `print` for people.

    Attributes:
        graph: source, hash, sizes and groups.
        homophily: share of the links that join the same group.
        groups: homophily and mean degree of each.
        operator: `gcn`, `mean` or `sum`.
        self_loops: that each node gets.
        hops: L.
        rule: when a channel is called leaking.
        level: chance of a false alarm per graph; None where nothing was tested.
        permutations: shuffles behind the p-values; likewise.
        shuffling: `exact` if each was propagated, `quick` if those of some channels were not; None likewise.
        channels: in the graph's order.
        degree_correlation: what a constant channel would show, by hop.
        probes: by hop and kind.
        label_leaks: channels that give the label away, the worst first.
        label_leak_threshold: their AUC is above it.
        hidden: columns that are no channels, and how well they can be read.
        undefined: what could not be measured, and why.
        notes: what else a reader should know.
        attributes: with several sensitive attributes, the audit by each of them; the rest is about the combinations of
            their groups, or has nothing to do with groups.
    """

    graph: Mapping[str, Any]
    homophily: Metric
    groups: tuple[GroupPlace, ...]
    operator: str
    self_loops: float
    hops: int
    rule: str
    level: float | None
    permutations: int | None
    shuffling: str | None
    channels: tuple[ChannelFinding, ...]
    degree_correlation: Numbers | None
    probes: tuple[ProbeFinding, ...]
    label_leaks: tuple[LabelLeak, ...] | Undefined
    label_leak_threshold: float
    hidden: tuple[HiddenFinding, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    attributes: Mapping[str, GraphAudit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reasons = dict(self.undefined)
        if isinstance(self.homophily, Undefined):
            reasons["homophily"] = self.homophily.reason
        if isinstance(self.label_leaks, Undefined):
            reasons["label_leaks"] = self.label_leaks.reason
        reasons |= {f"hidden '{column.name}'": column.undefined for column in self.hidden if column.undefined}
        for place in self.groups:
            for name in ("homophily", "mean_degree"):
                if isinstance(value := getattr(place, name), Undefined):
                    reasons[f"{name} of group '{place.group}'"] = value.reason
        object.__setattr__(self, "undefined", MappingProxyType(reasons))
        object.__setattr__(self, "graph", MappingProxyType(dict(self.graph)))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    @property
    def leaking(self) -> tuple[str, ...]:
        """Names of the leaking channels."""
        return tuple(channel.name for channel in self.channels if channel.leaking)

    def channel(self, name: str) -> ChannelFinding:
        """What was found of one channel."""
        return next(channel for channel in self.channels if channel.name == name)

    def to_dict(self) -> dict[str, Any]:
        """The document `audit.json`: plain data, None where something is undefined."""
        keys = {"groups": "homophily_by_group", "probes": "probe"}
        record = {keys.get(name, name): value for name, value in json_record(self).items()}
        record |= {"label_leaks": record["label_leaks"] or []}
        del record["attributes"]
        if self.attributes:
            record["attributes"] = {name: part.groups_to_dict() for name, part in self.attributes.items()}
        return {"kind": "audit", "version": 1} | record

    def groups_to_dict(self) -> dict[str, Any]:
        """For JSON: what tells one sensitive attribute from another."""
        document = self.to_dict()
        for shared in ("label_leaks", *(f"hidden '{column.name}'" for column in self.hidden)):
            document["undefined"].pop(shared, None)
        return {name: document["graph"][name] for name in OF_THE_GRAPH} | {name: document[name] for name in BY_GROUP}

    def __repr__(self) -> str:
        from fairview.leakage.sentences import described

        return described(self.to_dict())

    __str__ = __repr__

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per channel and hop.

        Columns: `channel`, `hop`, `correlation` with the sensitive attribute, `low` and `high` of its 95 % interval,
        `p_value` of this channel and hop alone, `leak_p_value` of the leak with all channels and hops counted (from hop
        1 on), `leaking` (the verdict on the channel), `sensitive` (it holds the attribute itself).

        Example:
            >>> import fairview as fv
            >>> audit = fv.audit(fv.synthetic_graph(2000, seed=1), permutations=99, probes=False)
            >>> audit.to_frame().filter(leaking=True).select("channel", "hop").rows()
            [('leak_strong', 0), ('leak_strong', 1), ('leak_strong', 2)]
        """
        from fairview.leakage.audit_display import graph_audit_frame

        return graph_audit_frame(self)

    def chart(self, figure: str | None = None) -> alt.VConcatChart:
        """A figure of the report: `leak` (correlations by hop, the default), `probes` or `hidden`; needs altair."""
        from fairview.report.chart import chart

        return chart(self, figure)

    def _repr_html_(self) -> str:
        from fairview.leakage.audit_display import graph_audit_html

        return graph_audit_html(self)
