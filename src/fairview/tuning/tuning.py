"""What came of a search under limits? The chosen model with its certificate, or a refusal, and everything around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairview.errors import FairviewError
from fairview.methods.estimator import Estimator

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from fairview.metrics.evaluation import Evaluation


VERSION = 1
"""Of tune.json and study.json."""


def limit_name(limit: Mapping[str, Any]) -> str:
    """A limit of a document in a table or a line: its gap, and with several attributes between whose groups.

    Example:
        >>> limit_name({"gap": "statistical_parity", "attribute": "race"}), limit_name({"gap": "equal_opportunity"})
        ('statistical_parity by race', 'equal_opportunity')
    """
    return f"{limit['gap']} by {limit['attribute']}" if "attribute" in limit else str(limit["gap"])


class RefusedError(FairviewError):
    """No model could be certified for the limit; the message says why, and what was nearest."""


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """What `fairview.tune` found.

    Attributes:
        document: everything, as in `tune.json`.
        certificate: as in `certificate.json`; None after a refusal, and where no limit was asked for.
        evaluations: of the chosen model, by split.
    """

    document: dict[str, Any]
    chosen_model: Estimator | None
    certificate: dict[str, Any] | None
    evaluations: dict[str, Evaluation]

    @property
    def model(self) -> Estimator:
        """The chosen model, with its threshold.

        Raises:
            RefusedError: none could be certified.
        """
        if self.chosen_model is None:
            raise RefusedError(str(self.document["refused"]))
        return self.chosen_model

    @property
    def chosen(self) -> dict[str, Any] | None:
        """Method, settings, threshold and limits of the chosen model; None after a refusal."""
        chosen: dict[str, Any] | None = self.document["chosen"]
        return chosen

    @property
    def refused(self) -> str | None:
        """Why there is no model; None if there is one."""
        refused: str | None = self.document["refused"]
        return refused

    def to_dict(self) -> dict[str, Any]:
        """For JSON, as in `tune.json`."""
        return self.document

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per candidate that is shown, and a column per metric, on the val nodes.

        Columns: `model`, `method`, `threshold`, `on_frontier`, `certified`, `group_at_prediction`, then the metrics.
        """
        import polars as pl

        from fairview.metrics.registry import METRICS

        rows = [
            {"model": row["label"]}
            | {name: row[name] for name in ("method", "threshold", "on_frontier", "certified", "group_at_prediction")}
            | {name: row["metrics"].get(name) for name in METRICS}
            for row in self.document["frontier"]
        ]
        return pl.DataFrame(rows)

    def chart(self, figure: str | None = None) -> alt.VConcatChart:
        """The frontier as an altair chart; needs altair."""
        from fairview.report.chart import chart

        return chart(self, figure)

    def __repr__(self) -> str:
        document, chosen = self.document, self.document["chosen"]
        lines = [f"Tuning on {document['graph']['source']}: {document['trials']} models, utility {document['utility']}"]
        if chosen is None:
            return "\n".join([*lines, f"  refused: {document['refused']}"])
        lines.append(f"  chosen: {chosen['label']}, threshold {chosen['threshold']:.3f}")
        lines += [
            f"  {limit_name(limit)}: observed {limit['estimate']:.3f}, at most {limit['limit']:g} with confidence "
            f"{limit['confidence']:g} (p = {limit['p_value']:.4f}, {limit['nodes']:,} nodes)"
            for limit in chosen["limits"]
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from fairview.tuning.tuning_display import tuning_html

        return tuning_html(self)
