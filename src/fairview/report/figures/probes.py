"""Figure 7: how well can the sensitive attribute be guessed from the data, and from what the model makes of them?"""

from __future__ import annotations

import altair as alt

from fairview.report.audit_documents import ProbeRow, Theorem2Document
from fairview.report.figures.charts import Series, Values, dots, known, layered, rule, tip
from fairview.report.figures.figure import Figure, FigureTable, Panel
from fairview.report.folder import Content
from fairview.report.words import distinct, listed, method_name, number, source_name, span

MOST = 40


def figure(content: Content) -> Figure | None:
    """Of every audit: the AUC of a guess of the sensitive attribute, with the chance level marked."""
    audit = content.audit
    if audit is None:
        return None
    model, sensitive = audit.model, audit.sensitive
    guesses = [(source_name(probe.on), probe) for probe in audit.probe]
    guesses += [(f"inside {method_name(p.model)}", p) for p in (model.representations if model else [])]
    guesses = [(name, probe) for name, probe in guesses if probe.auc is not None][:MOST]
    theorem = (_theorem(model.theorem2),) if model and model.theorem2 else ()
    heading = "How well can the sensitive attribute be guessed?"
    if not guesses:
        unknown = "No guess was tried, or none could be: this is unknown."
        return Figure("probes", heading, unknown, panels=(), tables=theorem) if theorem else None
    aucs = "; ".join(f"{name}, {probe.probe}: {number(probe.auc)}" for name, probe in guesses[:8])
    rows = [(name, probe.probe, number(probe.auc), span(probe)) for name, probe in guesses]
    columns = ("guessed from", "kind of guess", "AUC", "95% interval")
    return Figure(
        key="probes",
        heading=heading,
        reading=f"A second, separate model tries to guess {sensitive}. At 0.5 it is no better than a coin; at 1 it is "
        "always right. The further right a mark, the more of the sensitive attribute is still in there. A good guess "
        "proves that it is there, in whatever columns; a bad one does not prove that it is not.",
        panels=(Panel("probes", f"Guessing {sensitive}", f"AUC of guessing {sensitive}. {aucs}.", _chart(guesses)),),
        tables=(FigureTable(f"AUC of guessing {sensitive}", columns, rows), *theorem),
        answer=f"Best guess by source: {listed(_best(guesses), 8)}.",
    )


def _best(guesses: list[tuple[str, ProbeRow]]) -> list[str]:
    """The higher of the kinds of guess, by what was guessed from."""
    best: dict[str, float] = {}
    for name, probe in guesses:
        best[name] = max(best.get(name, 0.0), probe.auc or 0.0)
    return [f"{name} {number(auc)}" for name, auc in best.items()]


def _chart(guesses: list[tuple[str, ProbeRow]]) -> alt.LayerChart:
    names = list(dict.fromkeys(name for name, _ in guesses))
    labels = dict(zip(names, distinct(names), strict=True))
    kinds = list(dict.fromkeys(probe.probe for _, probe in guesses))
    short = dict(zip(kinds, distinct(kinds, limit=30), strict=True))
    values: Values = [
        {"name": labels[name], "series": short[p.probe], "place": kinds.index(p.probe), "value": p.auc}
        | {"low": p.low, "high": p.high}
        for name, p in guesses
    ]
    least = min([0.4, *(row["value"] for row in values), *(row["low"] for row in known(values, "low"))])
    scale = alt.Scale(domain=[max(0.0, least), 1])
    x = {"title": "AUC of the guess", "scale": scale}
    y = alt.Y("name:N", title=None, sort=None, scale=alt.Scale(domain=list(labels.values())))
    offset = alt.YOffset("place:O", sort="ascending")  # by number: a text here would become part of an expression
    tips = tip(name="guessed from", series="kind of guess", value="AUC", low="low", high="high")
    marks = dots(values, Series(list(short.values())), tips, x, y=y, yOffset=offset)
    return layered(rule(0.5, "chance", scale), *marks, height=max(120, 34 * len(labels) + 20))


def _theorem(theorem: Theorem2Document) -> FigureTable:
    holds = {None: ": not checked", True: ": holds", False: ": does not hold"}
    numbers = (
        ("χ, share of the own group among the neighbours", theorem.chi, ""),
        ("ε, the clamp", theorem.epsilon, ""),
        ("left side: the difference of the groups' means that the theorem expects", theorem.left, ""),
        ("bound as printed in the paper", theorem.printed, holds[theorem.printed_holds]),
        ("bound, corrected", theorem.corrected, holds[theorem.corrected_holds]),
        ("'predicted': the same with masked columns, as the classifier sees them", theorem.predicted, ""),
        ("'measured': the difference that there is, with the same masks", theorem.measured, ""),
    )
    applies = ": ".join(filter(None, ["yes" if theorem.applies else "no", theorem.reason]))
    rows = [("Does the theorem apply?", applies)]
    rows += [(name, number(value, 4) + verdict) for name, value, verdict in numbers if value is not None]
    rows += [("assumes", text) for text in theorem.assumptions[:20]]
    return FigureTable("The paper's bound on the difference between the groups (Theorem 2)", ("", ""), rows)
