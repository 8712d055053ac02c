"""The checklist on made-up rows: a claim that is true in them holds, one that is false does not."""

from __future__ import annotations

import math

import pytest

from fairview.metrics.chance import chance_gap
from fairview.paper import fig1
from fairview.paper.artefacts import ArtefactResult
from fairview.paper.cells import SHOWN, Cell, CellResult
from fairview.paper.checklist import CLAIMS, findings
from fairview.paper.claims import Tally
from fairview.paper.numbers import numbers, printed_row
from fairview.paper.scope import Scope
from fairview.paper.table3 import LOWEST_LOSS
from fairview.paper.table4 import ONE_SWITCH

SP, EO = "statistical_parity_gap", "equal_opportunity_gap"


def verdict(name, document):
    return findings({document.name: document})[name][1]


@pytest.fixture
def gaps(make_row, around):
    """A row with both gaps at a level, in three runs with a little spread."""

    def make(row, level, *, noise=0.1, **more):
        values = around(level, row, noise=noise)
        return make_row(row, **{SP: values, EO: values}, **more)

    return make


@pytest.mark.parametrize(("level", "word"), [(9.0, "holds"), (1.0, "does not")])
def test_modules(gaps, make_document, level, word):
    rows = [gaps("full", 5.0, block=ONE_SWITCH), gaps("without-fm", level, block=ONE_SWITCH),
            gaps("without-wc", level, block=ONE_SWITCH)]  # fmt: skip
    found = verdict("modules", make_document("table4", rows))
    assert found.verdict == word
    beyond = "4 beyond the noise" if word == "holds" else "4 disagree beyond the noise"
    assert beyond in found.evidence


def test_half_of_the_comparisons_is_mixed_and_enough_for_most_cases_only_if_more(gaps, make_document):
    rows = [gaps("full", 5.0, block=ONE_SWITCH), gaps("without-fm", 9.0, block=ONE_SWITCH),
            gaps("without-wc", 1.0, block=ONE_SWITCH)]  # fmt: skip
    document = make_document("table4", rows)
    assert verdict("modules", document).verdict == "mixed"
    assert verdict("masks-first", document).verdict == "holds"


def test_what_is_within_the_noise_is_undecided(gaps, make_document):
    rows = [gaps("full", 5.0, block=ONE_SWITCH, noise=9.0), gaps("without-fm", 5.5, block=ONE_SWITCH, noise=9.0)]
    found = verdict("modules", make_document("table4", rows))
    assert (found.verdict, found.evidence[:48]) == ("undecided", "2 of 2 comparisons agree, none beyond the noise;")


def test_a_claim_of_two_parts_is_as_good_as_the_worse(make_row, make_document, around):
    def row(name, auc, gap):
        runs = {m: around(auc, name) for m in ("auc", "f1", "accuracy")} | {m: around(gap, name) for m in (SP, EO)}
        return make_row(name, **runs)

    rows = [row(LOWEST_LOSS, 60.0, 30.0), *(row(name, 70.0, 5.0) for name in ("nifty", "edits", "fairvgnn"))]
    found = verdict("plain", make_document("table3", rows))
    assert found.verdict == "does not"  # all gaps agree, no utility does: 6 of 15 are not "generally"
    assert found.evidence.startswith("more useful: does not, 0 of 9")
    assert "more biased: holds, 6 of 6 comparisons agree, 6 beyond the noise" in found.evidence


def test_masking(make_row, make_document, around):
    def strategy(name, gap, auc, encoder="gcn", dataset="german"):
        runs = {
            metric: around(level, name + encoder) for metric, level in ((SP, gap), (EO, gap), ("auc", auc), ("f1", auc))
        }
        return make_row(name, dataset, encoder, **runs)

    rows = [strategy(name, gap, auc) for name, gap, auc in (("S0", 30, 74), ("S1", 11, 73), ("S2", 8, 72))]
    rows += [strategy(name, gap, auc, "mlp") for name, gap, auc in (("S0", 29, 72), ("S1", 8, 70), ("S2", 6, 70))]
    rows += [strategy(name, 12, 73, dataset="credit-small") for name in ("S1", "S2")]
    document = make_document("table1", rows)
    for name in ("masking", "s2-german", "s2-credit", "gcn-mlp"):
        assert verdict(name, document).verdict == "holds", name
    less_useful = [strategy(name, 12, auc, dataset="credit-small") for name, auc in (("S1", 73), ("S2", 68))]
    assert verdict("s2-credit", make_document("table1", less_useful)).verdict == "mixed"  # "the same utility/bias"


def test_the_plain_model_of_the_published_rule_is_the_one_that_counts(make_row, make_document, around):
    def row(name, useful, gap):
        runs = {m: around(useful, name) for m in ("auc", "f1", "accuracy")} | {m: around(gap, name) for m in (SP, EO)}
        return make_row(name, **runs)

    rows = [row(LOWEST_LOSS, 74.0, 30.0), row("vanilla", 54.0, 0.5), row("fairvgnn", 70.0, 1.5)]
    found = verdict("plain", make_document("table3", rows))
    assert found.verdict == "holds"
    assert "with the selection rule of the fair methods 0 of 3" in found.evidence
    assert "with the selection rule of the fair methods 0 of 2" in found.evidence


def test_average_rank(make_row, make_document):
    good = make_row("fairvgnn", auc=[80.0], f1=[80.0], accuracy=[80.0], **{SP: [1.0], EO: [1.0]})
    other = make_row("nifty", auc=[70.0], f1=[70.0], accuracy=[70.0], **{SP: [2.0], EO: [2.0]})
    assert verdict("rank", make_document("table3", [good, other])).verdict == "holds"
    swapped = [make_row("nifty", auc=[90.0], f1=[90.0], accuracy=[90.0], **{SP: [0.0], EO: [0.0]}), good]
    assert verdict("rank", make_document("table3", swapped)).verdict == "does not"


def test_bias_falls_with_the_masked_channel(gaps, make_document):
    levels = {0: 35.0, 1: 5.0, 2: 8.0, 3: 12.0, 4: 20.0, 5: 34.0}
    rows = [
        gaps(f"without {rank}", level, masked=str(rank) if rank else "",
             facts={"rank": rank, "correlation": 1 / (rank + 1), "sensitive": rank == 1})
        for rank, level in levels.items()
    ]  # fmt: skip
    document = make_document("fig1", rows)
    assert verdict("bias-falls", document).verdict == "holds"
    assert verdict("bias-remains", document).verdict == "not run"  # how large the groups are is not known


GERMANS = {"test_0": 156, "test_1": 94, "positive_0": 119, "positive_1": 56}
"""The groups of German's test split."""


@pytest.mark.parametrize(("level", "noise", "word"), [(35.0, 1.0, "holds"), (35.0, 30.0, "does not"),
                                                      (8.0, 0.1, "does not"), (0.1, 0.01, "does not")])  # fmt: skip
def test_bias_remains_only_beyond_what_blind_predictors_have(gaps, make_document, level, noise, word):
    """Of models that say yes to half of the nodes. No level of the gaps is negative, but one may be chance."""
    masked = gaps("without Gender", level, noise=noise, masked="Gender", facts={"rank": 1, "sensitive": True} | GERMANS)
    found = verdict("bias-remains", make_document("fig1", [gaps("nothing", 40.0, facts={"rank": 0}), masked]))
    assert found.verdict == word
    assert "40.0 with nothing masked" in found.evidence
    blind = [100 * chance_gap(*sizes).upper for sizes in ((125, 156, 94), (88, 119, 56))]  # TPR = FPR = 1/2
    assert [f"chance {gap:.1f};" in found.evidence for gap in blind] == [True, True]
    assert 8 < min(blind) < 35


def test_the_groups_of_figure_1_are_those_of_the_test_nodes():
    cells = fig1.cells(Scope(datasets=("german",)))
    (masked,) = {tuple(cell.facts.items()) for cell in cells if cell.facts.get("sensitive") and cell.encoder == "gcn"}
    assert {name: size for name, size in masked if name in GERMANS} in (
        GERMANS, {name: GERMANS[f"{name[:-1]}{1 - int(name[-1])}"] for name in GERMANS}
    )  # fmt: skip


def cost_series(operations):
    """Of graphs that grow in both ways."""
    sizes = [(n, n * degree // 2) for n in (1_000, 4_000, 16_000) for degree in (5, 20)]
    return [{"encoder": "gcn", "nodes": v, "edges": e, "operations": operations(v, e)} for v, e in sizes]


@pytest.mark.parametrize(
    ("operations", "word"),
    [
        (lambda v, e: 900 * v + 3 * e + 10_000, "holds"),
        (lambda v, e: 5 * v + 70 * e, "holds"),
        (lambda v, e: v * v / 100 + e, "does not"),
        (lambda v, e: v * math.log(v) ** 3 + e, "does not"),
    ],
)
def test_linear_cost_fails_for_what_is_not_linear(make_document, operations, word):
    found = verdict("cost", make_document("cost", series=cost_series(operations)))
    assert found.verdict in ({word, "mixed"} if word == "does not" else {word})
    assert "exponent" in found.short


def test_rows_of_unequal_length_are_compared_over_the_seeds_that_both_have(make_row, make_document):
    full = make_row("full", block=ONE_SWITCH, **{SP: [1.0, 1.1, 1.2, 90.0], EO: [1.0, 1.1, 1.2, 90.0]})
    without = make_row("without-fm", block=ONE_SWITCH, **{SP: [5.0, 5.2, 5.1], EO: [5.0, 5.2, 5.1]})
    found = verdict("modules", make_document("table4", [full, without]))
    assert found.evidence.startswith("2 of 2 comparisons agree, 2 beyond the noise")
    assert "3 to 4 runs a row" in found.evidence


def test_earlier_rows_are_tested_without_pairs(gaps, make_document):
    def earlier(name, level):
        row = gaps(name, level, block=ONE_SWITCH)
        return CellResult(row.cell, earlier=dict.fromkeys(SHOWN, (level / 100, 0.001)), earlier_runs=5)

    rows = [earlier("full", 5.0), gaps("without-fm", 9.0, block=ONE_SWITCH), earlier("without-wc", 5.01)]
    found = verdict("modules", make_document("table4", rows))
    assert found.evidence.startswith("4 of 4 comparisons agree, 2 beyond the noise")
    assert "2 of 3 rows of table4 are earlier runs" in found.evidence


def test_a_claim_is_judged_alike_from_the_file(gaps, make_document, tmp_path):
    rows = [
        gaps(f"without {rank}", 10.0 + rank, masked=str(rank) if rank else "",
             facts={"rank": rank, "channel": str(rank), "correlation": 1.0 / (rank + 1)})
        for rank in range(5)
    ]  # fmt: skip
    document = make_document("fig1", rows)
    again = ArtefactResult.load(document.save(tmp_path))
    assert "trend of" not in verdict("bias-falls", document).evidence  # among those against
    assert verdict("bias-falls", again) == verdict("bias-falls", document)
    assert "gcn SP gap -1.00, gcn EO gap -1.00" in verdict("bias-falls", again).evidence


def test_two_graphs_of_credit_are_not_mixed(make_document):
    def series(dataset, homophily, change):
        return [
            {"dataset": dataset, "homophily": homophily, "place": place, "hop": hop, "sensitive": False,
             "correlation": 0.1 + hop * change + (dataset == "credit-large") / 2}
            for place in range(1, 9) for hop in (0, 1)
        ]  # fmt: skip

    both = series("credit-small", 0.9, 0.2) + series("credit-large", 0.96, 0.1)
    found = verdict("homophily", make_document("fig5", series=both))
    assert found.verdict == "holds"
    assert "credit-small: homophily 0.9000, mean |change| 0.200" in found.evidence
    assert "credit-large: homophily 0.9600, mean |change| 0.100" in found.evidence


def test_threshold(gaps, make_document):
    rows = [gaps(f"ε = {e}", level, encoder="sage", facts={"threshold": e}) for e, level in ((0.1, 2), (1, 3), (4, 7))]
    assert verdict("threshold", make_document("fig4", rows)).verdict == "holds"


def test_a_slight_trend_is_none(gaps, make_document):
    levels = {0.1: 2, 0.5: 5, 1: 3, 2: 4, 4: 2.5}  # rank correlation +0.1
    rows = [gaps(f"ε = {e}", level, encoder="sage", facts={"threshold": e}) for e, level in levels.items()]
    found = verdict("threshold", make_document("fig4", rows))
    assert (found.verdict, "sage SP gap +0.10" in found.evidence) == ("does not", True)


def test_adaptive_clamp_with_the_papers_exceptions(gaps, make_document):
    rows = [gaps("adaptive", 1.0), gaps("plain", 2.0), gaps("spectral", 3.0)]
    rows += [gaps(name, level, encoder="gin") for name, level in (("adaptive", 9.0), ("plain", 2.0))]
    found = verdict("adaptive", make_document("table6", rows))
    assert (found.verdict, "(GIN, Credit GCN): 0 of 2" in found.evidence) == ("holds", True)


def test_homophily_and_channels(make_document):
    def series(dataset, homophily, change):
        sensitive = 1 if dataset == "german" else 3  # wherever it lies, its own loss of correlation does not count
        return [
            {"dataset": dataset, "homophily": homophily, "place": place, "channel": "c", "hop": hop,
             "sensitive": place == sensitive,
             "correlation": 1 - 0.9 * hop if place == sensitive else 0.1 + hop * change / (1 + (place not in (2, 7)))}
            for place in range(1, 9) for hop in (0, 1)
        ]  # fmt: skip

    both = series("german", 0.8, 0.2) + series("credit-small", 0.9, 0.05)
    assert verdict("homophily", make_document("fig5", series=both, quick=True)).verdict == "holds"
    assert verdict("correlations-change", make_document("fig1", series=both)).verdict == "holds"
    turned = series("german", 0.8, 0.05) + series("credit-small", 0.9, 0.2)
    assert verdict("homophily", make_document("fig5", series=turned)).verdict == "does not"


def test_what_was_not_run_or_only_smoke_tested_is_not_judged(gaps, make_document):
    nothing = findings({})
    assert {finding.verdict for _, finding in nothing.values()} == {"not run"}
    assert len(nothing) == len(CLAIMS) == 18
    rows = [gaps("full", 5.0, block=ONE_SWITCH), gaps("without-fm", 9.0, block=ONE_SWITCH)]
    assert verdict("modules", make_document("table4", rows, quick=True)).verdict == "not run"


def test_evidence_says_what_was_not_run(gaps, make_row, make_document):
    rows = [gaps("full", 5.0, block=ONE_SWITCH), gaps("without-fm", 9.0, block=ONE_SWITCH)]
    rows.append(CellResult(gaps("without-wc", 9.0, block=ONE_SWITCH).cell, reason="not run (0 of 5 runs are there)"))
    found = verdict("modules", make_document("table4", rows))
    assert found.verdict == "holds"
    assert found.evidence.endswith("1 of 3 rows of table4 have no numbers")
    good = make_row("fairvgnn", auc=[80.0], f1=[80.0], accuracy=[80.0], **{SP: [1.0], EO: [1.0]})
    sage = CellResult(make_row("fairvgnn", encoder="sage").cell, reason="not run (0 of 5 runs are there)")
    found = verdict("rank", make_document("table3", [good, make_row("nifty"), sage]))
    assert "not ranked: sage fairvgnn" in found.evidence


def test_the_papers_own_numbers(make_document, around):
    """What the same rules say of the printed means, with little noise: some claims are mixed in the paper itself."""

    def runs(number, name):
        return (None,) * 3 if number is None else tuple(around(number.mean / 100, name, noise=1e-6))

    found = {}
    for table in ("table1", "table3", "table4", "table6"):
        rows = [
            CellResult(
                Cell(dataset=ours, encoder=encoder, row=name, method="any",
                     block=ONE_SWITCH if table == "table4" else ""),
                ((0, 1), (0, 2), (0, 3)), {m: runs(printed.get(m), f"{ours}{encoder}{name}") for m in SHOWN})
            for ours, theirs in (("german", "german"), ("credit-large", "credit"), ("bail", "bail"))
            for encoder, of_encoder in numbers()[table].get(theirs, {}).items()
            for row in of_encoder
            if (printed := printed_row(table, theirs, encoder, row)) is not None
            for name in ((row, LOWEST_LOSS) if row == "vanilla" else (row,))
        ]  # fmt: skip
        document = make_document(table, rows)
        found |= {name: f.verdict for name, (_, f) in findings({table: document}, only=table).items()}
    mixed = {"gcn-mlp", "modules", "masking"}  # each of the two parts of a claim counts
    assert found == {name: "mixed" if name in mixed else "holds" for name in found}
    assert len(found) == 10


def test_equal_values_do_not_agree(gaps):
    tally = Tally()
    tally.expect_lower(gaps("a", 0.5), gaps("b", 0.5), (SP,))
    assert (tally.agree, tally.total, tally.equal) == (0, 1, 1)
