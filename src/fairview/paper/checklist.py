"""The paper's claims, one by one, and how each is looked at."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.stats import spearmanr

from fairview.metrics.registry import METRICS
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.bias_remains import bias_remains
from fairview.paper.cells import CellResult
from fairview.paper.claims import Claim, Documents, Finding, Tally, all_of, settings_of
from fairview.paper.linear_cost import linear_cost
from fairview.paper.pages import our_ranks
from fairview.paper.table3 import LOWEST_LOSS, METHODS
from fairview.paper.table4 import AS_PUBLISHED, ONE_SWITCH
from fairview.study.statistics import GAPS, UTILITY

TREND = 0.3
"""A rank correlation that is no larger in size is no trend."""

_TREND_RULE = f"beyond ±{TREND} is a trend"

# --- Figure 1: one channel masked -------------------------------------------------------------------------------------


def _bias_falls(document: ArtefactResult) -> Finding:
    tally, trends = Tally(), []
    for encoder in ("mlp", "gcn"):
        rows = [row for row in document.rows if row.cell.encoder == encoder and "rank" in row.cell.facts]
        masked = [row for row in rows if row.cell.masked]
        nothing = next((row for row in rows if row.cell.facts["rank"] == 0), None)
        for row in rows:
            if row.cell.facts["rank"] in (2, 3, 4):
                tally.expect_lower(row, nothing, GAPS)
        for metric in GAPS:
            trend = _trend([abs(row.cell.facts.get("correlation", 0.0)) for row in masked], masked, metric)
            if trend is not None:
                tally.count(trend < -TREND, f"{encoder} trend of {METRICS[metric].short}")
                trends.append(f"{encoder} {METRICS[metric].short} {trend:+.2f}")
    evidence = ", ".join(trends) or "none"
    return tally.finding(f"rank correlation of |correlation| and gap over channels ({_TREND_RULE}): {evidence}")


def _german_channels_change(document: ArtefactResult) -> Finding:
    german = _changes(document, "german")
    credit = _changes(document, "credit-large") or _changes(document, "credit-small")
    if not german:
        return Finding("not run", "German is not among the series")
    tally = Tally()
    others = [change for place, change in german.items() if place not in (2, 7)]
    for place in (2, 7):
        tally.count(german[place] > float(np.median(others)), f"channel {place}")
    text = f"German, largest |change| over four hops: 2nd {german[2]:.2f}, 7th {german[7]:.2f}, median of the others "
    text += f"{float(np.median(others)):.2f} (in the table's order; how the paper counts channels is not said)"
    if credit:
        mean = [float(np.mean(list(changes.values()))) for changes in (german, credit)]
        tally.count(mean[1] < mean[0], "Credit changes less")
        text += f"; mean over channels: German {mean[0]:.2f}, Credit {mean[1]:.2f}"
    return tally.finding(text)


# --- Table 1: masking -------------------------------------------------------------------------------------------------


def _masking_lowers_bias(document: ArtefactResult) -> Finding:
    bias, cost = Tally(), Tally()
    for rows in settings_of(document).values():
        for strategy in ("S1", "S2"):
            bias.expect_lower(rows.get(strategy), rows.get("S0"), GAPS)
            cost.expect_lower(rows.get(strategy), rows.get("S0"), ("auc", "f1"))
    return all_of(less_bias=bias.finding(), less_useful=cost.finding())


def _propagated_ranking_on_german(document: ArtefactResult) -> Finding:
    tally = Tally()
    for (dataset, encoder), rows in settings_of(document).items():
        if dataset == "german" and encoder in ("mlp", "gcn"):
            tally.expect_lower(rows.get("S2"), rows.get("S1"), GAPS)
    return tally.finding()


def _rankings_agree_on_credit(document: ArtefactResult) -> Finding:
    tally, evidence = Tally(), []
    for (dataset, encoder), rows in settings_of(document).items():
        if dataset.startswith("credit") and encoder in ("mlp", "gcn") and {"S1", "S2"} <= set(rows):
            for metric in ("auc", "f1", *GAPS):
                one, other = rows["S1"].mean(metric), rows["S2"].mean(metric)
                if one is not None and other is not None:
                    tally.count(abs(one - other) < 0.5, f"{encoder} {METRICS[metric].short}")
                    evidence.append(f"{other - one:+.2f}")
    return tally.finding(f"S2 - S1 in points (equal means below 0.5): {', '.join(evidence)}", told=True)


def _gcn_more_useful_and_biased(document: ArtefactResult) -> Finding:
    useful, biased = Tally(), Tally()
    settings = settings_of(document)
    for dataset in dict.fromkeys(dataset for dataset, _ in settings):
        mlp, gcn = (settings.get((dataset, encoder), {}).get("S0") for encoder in ("mlp", "gcn"))
        useful.expect_lower(mlp, gcn, ("auc", "f1"))
        biased.expect_lower(mlp, gcn, GAPS)
    return all_of(more_useful=useful.finding(), more_biased=biased.finding())


# --- Table 3 ----------------------------------------------------------------------------------------------------------


def _plain_more_useful_and_biased(document: ArtefactResult) -> Finding:
    """The plain model as published, lowest loss; with the fair methods' own rule it is another model, said beside."""
    parts = {}
    for name, metrics in (("more_useful", UTILITY), ("more_biased", GAPS)):
        published, same_rule = Tally(), Tally()
        for rows in settings_of(document).values():
            for method in ("nifty", "edits", "fairgnn", "fairvgnn"):
                published.expect_lower(rows.get(method), rows.get(LOWEST_LOSS), metrics)
                same_rule.expect_lower(rows.get(method), rows.get("vanilla"), metrics)
        remark = f"with the selection rule of the fair methods {same_rule.agree} of {same_rule.total}"
        parts[name] = published.finding(remark, most=True)
    return all_of(**parts)


def _best_average_rank(document: ArtefactResult) -> Finding:
    ranks = our_ranks(document.rows)
    models = [(row.cell.encoder or "", row.cell.row) for row in document.rows if row.cell.row in METHODS]
    absent = list(dict.fromkeys(" ".join(key) for key in models if key not in ranks))
    tally, evidence = Tally(), []
    for encoder in dict.fromkeys(encoder for encoder, _ in ranks):
        others = {m: rank for (e, m), rank in ranks.items() if e == encoder and m not in ("vanilla", "fairvgnn")}
        mine = ranks.get((encoder, "fairvgnn"))
        if mine is not None and others:
            tally.count(mine < min(others.values()), encoder)
            evidence.append(
                f"{encoder} {mine:.2f} against {min(others.values()):.2f} ({min(others, key=others.__getitem__)})"
            )
    finding = tally.finding("; ".join(evidence + ([f"not ranked: {', '.join(absent)}"] if absent else [])))
    return Finding("undecided", finding.evidence) if absent and finding.verdict == "holds" else finding


# --- Table 4 and Figure 3: modules ------------------------------------------------------------------------------------


def _each_lower(*pairs: tuple[str, str], most: bool = False) -> Callable[[ArtefactResult], Finding]:
    """Judges (lower, higher) pairs among the untuned variants; how the tuned ones fare is said."""

    def judge(document: ArtefactResult) -> Finding:
        full = settings_of(document, block=ONE_SWITCH)
        tallies = {ONE_SWITCH: Tally(), AS_PUBLISHED: Tally()}
        for block, tally in tallies.items():
            for key, rows in settings_of(document, block=block).items():
                known = {name: row for name, row in full.get(key, {}).items() if name == "full"} | rows
                for lower, higher in pairs:
                    tally.expect_lower(known.get(lower), known.get(higher), GAPS)
        other = tallies[AS_PUBLISHED]
        return tallies[ONE_SWITCH].finding(f"{AS_PUBLISHED}: {other.agree} of {other.total}", most=most)

    return judge


# --- Table 6 and Figure 4: clamping -----------------------------------------------------------------------------------


def _adaptive_clamp_is_best(document: ArtefactResult) -> Finding:
    tally, exempt = Tally(), Tally()
    for (dataset, encoder), rows in settings_of(document).items():
        is_exempt = encoder == "gin" or (dataset.startswith("credit") and encoder == "gcn")
        for other in ("plain", "spectral"):
            (exempt if is_exempt else tally).expect_lower(rows.get("adaptive"), rows.get(other), GAPS)
    return tally.finding(f"where the paper makes an exception (GIN, Credit GCN): {exempt.agree} of {exempt.total}")


def _higher_threshold_more_bias(document: ArtefactResult) -> Finding:
    tally, evidence = Tally(), []
    for (dataset, encoder), rows in settings_of(document).items():
        for metric in GAPS:
            ordered = [row for row in rows.values() if "threshold" in row.cell.facts]
            trend = _trend([row.cell.facts["threshold"] for row in ordered], ordered, metric)
            if trend is not None:
                name = f"{dataset} {encoder} {METRICS[metric].short}"
                tally.count(trend > TREND, name)
                evidence.append(f"{name} {trend:+.2f}")
    trends = f"rank correlation of threshold and gap ({_TREND_RULE}): {', '.join(evidence)}"
    return tally.finding(trends, told=True)


# --- Figure 5 and cost ------------------------------------------------------------------------------------------------


def _homophily_slows_change(document: ArtefactResult) -> Finding:
    by_dataset = {}
    for dataset in dict.fromkeys(str(record["dataset"]) for record in document.series):
        homophily = next(record["homophily"] for record in document.series if record["dataset"] == dataset)
        by_dataset[dataset] = (float(homophily), float(np.mean(list(_changes(document, dataset).values()))))
    if len(by_dataset) < 2:
        return Finding("not run", "needs two datasets")
    ordered = sorted(by_dataset.values())
    tally = Tally()
    for (_, less), (_, more) in pairwise(ordered):
        tally.count(more < less, "slower change with higher homophily")
    evidence = [f"{name}: homophily {h:.4f}, mean |change| {change:.3f}" for name, (h, change) in by_dataset.items()]
    evidence += ["the paper's Credit is a larger graph"] if "credit-small" in by_dataset else []
    return tally.finding("; ".join(evidence), told=True)


CLAIMS: tuple[Claim, ...] = (
    Claim(name="bias-remains", text="Bias remains when the sensitive channel is masked", where="section 3",
          needs="fig1", judge=bias_remains),
    Claim(name="bias-falls", text="Masking a channel lowers the bias, the more the more it is correlated",
          where="section 3, Figure 1 a-b", needs="fig1", judge=_bias_falls),
    Claim(name="correlations-change", text="Propagation changes the correlation of German's 2nd and 7th channel much, "
          "of Credit's little", where="Figure 1 c-d", needs="fig1", judge=_german_channels_change, trained=False),
    Claim(name="masking", text="Masking the top channels (S1, S2) lowers bias and costs utility",
          where="section 3, Table 1", needs="table1", judge=_masking_lowers_bias),
    Claim(name="s2-german", text="S2 has less bias than S1 on German (MLP, GCN)", where="section 3, Table 1",
          needs="table1", judge=_propagated_ranking_on_german),
    Claim(name="s2-credit", text="S2 equals S1 on Credit", where="section 3, Table 1", needs="table1",
          judge=_rankings_agree_on_credit),
    Claim(name="gcn-mlp", text="A GCN is more useful and more biased than an MLP", where="section 3, Table 1",
          needs="table1", judge=_gcn_more_useful_and_biased),
    Claim(name="plain", text="Plain models are generally more useful and more biased than fair ones",
          where="section 5.2.1, Table 3", needs="table3", judge=_plain_more_useful_and_biased),
    Claim(name="rank", text="FairVGNN has the best average rank of the fair methods, with every encoder",
          where="section 5.2.1, Table 3", needs="table3", judge=_best_average_rank),
    Claim(name="modules", text="Each module, masks and clamp, lowers bias", where="section 5.2.2, Table 4",
          needs="table4", judge=_each_lower(("full", "without-fm"), ("full", "without-wc"))),
    Claim(name="add-up", text="The effects of masks and clamp add up: without both, bias is higher than without one",
          where="section 5.2.2, Table 4", needs="table4",
          judge=_each_lower(("without-fm", "without-both"), ("without-wc", "without-both"))),
    Claim(name="masks-first", text="Leaving out the masks hurts more than leaving out the clamp, in most cases",
          where="section 5.2.2, Table 4", needs="table4", judge=_each_lower(("without-wc", "without-fm"), most=True)),
    Claim(name="adversaries", text="Removing discriminator or generator raises bias",
          where="section 5.3.1, Figure 3", needs="fig3",
          judge=_each_lower(("without-wc", "without-discriminator"), ("without-wc", "without-generator"))),
    Claim(name="discriminator", text="Removing the discriminator raises bias more than removing the generator, in most "
          "cases", where="section 5.3.1, Figure 3", needs="fig3",
          judge=_each_lower(("without-generator", "without-discriminator"), most=True)),
    Claim(name="adaptive", text="Adaptive clamping has less bias than plain clamping and spectral normalisation",
          where="section 5.3.2, Tables 5 and 6", needs="table6", judge=_adaptive_clamp_is_best),
    Claim(name="threshold", text="A higher clamping threshold means more bias", where="section 5.3.2, Figure 4",
          needs="fig4", judge=_higher_threshold_more_bias),
    Claim(name="homophily", text="Higher homophily, slower change of the correlations", where="appendix D.2, Figure 5",
          needs="fig5", judge=_homophily_slows_change, trained=False),
    Claim(name="cost", text="An epoch costs O(V + E)", where="section 4.3", needs="cost", judge=linear_cost,
          trained=False),
)  # fmt: skip


def findings(documents: Documents, *, only: str | None = None) -> dict[str, tuple[Claim, Finding]]:
    """By the claim's name; `only` those that a table or figure is the evidence of."""
    return {claim.name: (claim, claim.finding(documents)) for claim in CLAIMS if only in (None, claim.needs)}


# --- parts ------------------------------------------------------------------------------------------------------------


def _trend(at: list[float], rows: list[CellResult], metric: str) -> float | None:
    """Rank correlation of a quantity with the rows' means; None with too few, or if nothing varies."""
    pairs = [(x, mean) for x, row in zip(at, rows, strict=True) if (mean := row.mean(metric)) is not None]
    xs, means = [x for x, _ in pairs], [mean for _, mean in pairs]
    if len(pairs) < 3 or len(set(xs)) < 2 or len(set(means)) < 2:
        return None
    return float(spearmanr(xs, means).statistic)


def _changes(document: ArtefactResult, dataset: str) -> dict[int, float]:
    """Place of a channel that is not sensitive -> largest change of its correlation over the hops."""
    correlations: dict[int, list[float]] = {}
    for record in document.series:
        if record["dataset"] == dataset and not record["sensitive"]:
            correlations.setdefault(int(record["place"]), []).append(float(record["correlation"]))
    return {place: max(abs(value - values[0]) for value in values) for place, values in correlations.items()}
