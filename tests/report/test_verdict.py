"""The words on top: what they must say, and what they must never say."""

from __future__ import annotations

import pytest

from fairview.report.folder import read_folder
from fairview.report.verdict import verdict_of
from fairview.report.verdict.model_verdict import is_small


def verdict(made, tmp_path, values=None, width=0.03, groups=None, audit=None, **changes):
    metrics = made.metrics(values, width, groups)
    metrics["test"] |= changes
    return verdict_of(read_folder(made.run(tmp_path, metrics=metrics, audit=audit)))


def said(found) -> str:
    return " ".join([found.headline, *found.sentences, *found.warnings])


def large_groups(made):
    return [made.group("Male", 400, 200, (0.7, 0.8, 0.4)), made.group("Female", 300, 150, (0.7, 0.8, 0.4))]


def test_a_good_model_on_many_people_is_called_so(made, tmp_path):
    found = verdict(made, tmp_path, groups=large_groups(made))
    assert found.status == "good"
    assert "small, and enough people were tested" in found.headline
    assert "surely so" in said(found)
    assert "tested on 700 nodes" in said(found)
    assert "better than the constant predictor (balanced accuracy 70.0%" in said(found)


def test_a_small_gap_with_a_wide_interval_is_uncertain(made, tmp_path):
    found = verdict(made, tmp_path, width=0.08, groups=large_groups(made))
    assert found.status == "unsure"
    assert "up to 9.0 points can't be ruled out" in said(found)


def test_a_gap_whose_whole_interval_is_large_is_called_clear(made, tmp_path):
    values = [*made.good[:5], 0.30, 0.25, 0.3]
    found = verdict(made, tmp_path, values)
    assert found.status == "bad"
    assert "chance does not explain it" in found.headline
    assert "30.0 points (95% interval 27.0 to 33.0): surely not small" in said(found)


def test_a_large_gap_with_a_wide_interval_is_large_but_uncertain(made, tmp_path):
    found = verdict(made, tmp_path, [*made.good[:5], 0.10, 0.01, 0.1], width=0.09)
    assert found.status == "bad"
    assert "uncertain" in found.headline


def test_no_better_than_the_constant_predictor_is_said_first(made, tmp_path):
    found = verdict(made, tmp_path, [0.52, 0.82, 0.70, 0.51, 0.98, 0.0, 0.0, 0.0])
    assert found.status == "empty"
    assert "not shown to be better than giving everyone the same answer" in found.headline
    assert "no gap at all by design" in said(found)


@pytest.mark.parametrize(("width", "word"), [(0.03, "chance does not explain it"), (0.29, "not small in this test")])
def test_a_gap_counts_in_a_useless_model_too(made, tmp_path, width, word):
    """Who decides by the group alone is no better than a constant, and as unequal as can be."""
    found = verdict(made, tmp_path, [0.5, 0.6, 0.5, 0.5, 0.5, 0.30, 0.30, 0.3], width, large_groups(made))
    assert found.status == "bad"
    assert word in found.headline
    assert "giving everyone the same answer" in found.headline


def test_only_labels_were_not_seen(made, tmp_path):
    """Features, links and groups of the tested nodes take part in training."""
    assert "700 nodes of german whose labels it had not seen" in said(
        verdict(made, tmp_path, groups=large_groups(made))
    )


def test_an_undefined_gap_is_undefined_never_small(made, tmp_path):
    values = [*made.good[:6], None, None]
    reason = "group 'Female' has no positive labels"
    found = verdict(made, tmp_path, values, groups=large_groups(made), undefined={"equal_opportunity_gap": reason})
    assert found.status == "unsure"
    assert "undefined" in found.headline
    assert f"undefined ({reason}): no statement can be made" in said(found)
    assert [fact.value for fact in found.facts][1] == "undefined"


def test_undefined_usefulness_is_said(made, tmp_path):
    values = [None, 0.8, 0.7, None, 0.4, 0.01, 0.01, 0.01]
    found = verdict(
        made, tmp_path, values, groups=large_groups(made), undefined={"balanced_accuracy": "one class only"}
    )
    assert found.status == "unsure"
    assert "balanced accuracy is undefined (one class only)" in said(found)


def test_tiny_groups_are_flagged_and_spoil_a_good_verdict(made, tmp_path):
    groups = [made.group("Male", 400, 200, (0.7, 0.8, 0.4)), made.group("Female", 9, 3, (0.7, 0.8, 0.4))]
    found = verdict(made, tmp_path, groups=groups)
    assert found.status == "unsure"
    assert "Small group: Female has 9 tested nodes, 3 of them with a positive label" in said(found)
    assert found.facts[-1].detail == "smallest group: 9"


def test_the_audits_word_on_small_groups_counts(made, tmp_path):
    content = read_folder(made.run(tmp_path))
    group = content.runs[0].test.groups[0]
    assert not is_small(group.model_copy(update={"nodes": 30, "positives": 5, "small": None}))
    assert is_small(group.model_copy(update={"nodes": 30, "positives": 4, "small": None}))
    assert is_small(group.model_copy(update={"nodes": 30, "positives": 26, "small": None}))
    assert is_small(group.model_copy(update={"nodes": 29, "positives": 10, "small": None}))
    assert is_small(group.model_copy(update={"nodes": 400, "small": True}))


def test_more_than_two_groups_name_the_widest_pair(made, tmp_path):
    groups = [made.group(name, 300, 150, (0.7, 0.8, 0.4)) for name in ("A", "B", "C")]
    pairs = [
        {"groups": ["A", "B"], "gap": 0.0},
        {"groups": ["A", "C"], "gap": 0.01},
        {"groups": ["B", "C"], "gap": None},
    ]
    found = verdict(made, tmp_path, groups=groups, pairs={"statistical_parity_gap": pairs})
    assert "between A and C, the widest pair," in said(found)
    assert "A 300, B 300 and C 300" in said(found)


def test_an_undefined_gap_of_three_groups_says_what_can_be_measured(made, tmp_path):
    groups = [made.group("A", 300, 150, (0.7, 0.8, 0.4)), made.group("B", 300, 150, (0.3, 0.8, 0.4))]
    pairs = [{"groups": ["A", "B"], "gap": 0.4}, {"groups": ["A", "C"], "gap": None}]
    values = [*made.good[:5], None, 0.01, 0.01]
    found = verdict(made, tmp_path, values, groups=groups, pairs={"statistical_parity_gap": pairs})
    assert found.status == "unsure"
    assert "Among the pairs that can be measured, it is widest between A and B: 40.0 points." in said(found)


def test_nodes_of_unknown_group_are_counted(made, tmp_path):
    assert "12 tested nodes of unknown group" in said(verdict(made, tmp_path, group_unknown=12))


def test_without_intervals_nothing_is_sure(made, tmp_path):
    found = verdict(made, tmp_path, groups=large_groups(made), intervals={})
    assert found.status == "unsure"
    assert "uncertainty is unknown" in said(found)


def test_the_plain_model_is_put_beside(made, tmp_path):
    found = verdict(made, tmp_path, audit=made.audit())
    assert "The plain model, tested on the same nodes, has a gap of 24.0 points" in said(found)
    audit = made.audit()
    audit["model"]["rows"][1]["intervals"]["statistical_parity_gap"] = {"low": 0.0, "high": 0.5}
    assert "intervals overlap" in said(verdict(made, tmp_path / "b", audit=audit))


def test_several_seeds_are_judged_by_the_envelope(made, tmp_path):
    for seed, gap in ((1, 0.01), (2, 0.03)):
        metrics = made.metrics([*made.good[:5], gap, 0.01, 0.01], 0.005, large_groups(made))
        made.write(tmp_path / f"seed-{seed}", run=made.record(seed), metrics=metrics)
    found = verdict_of(read_folder(tmp_path))
    assert "is 2.0 points (95% interval 0.5 to 3.5)" in said(found)
    assert "means over 2 runs" in said(found)


def test_the_plain_model_stands_beside_the_mean_of_the_seeds(made, tmp_path):
    pairs = {"statistical_parity_gap": [{"groups": ["A", "B"], "gap": 0.1}, {"groups": ["A", "C"], "gap": 0.0}]}
    for seed, auc in ((1, 0.60), (2, 0.80)):
        metrics = made.metrics([auc, *made.good[1:]])
        metrics["test"]["pairs"] = pairs
        made.write(tmp_path / f"seed-{seed}", run=made.record(seed), metrics=metrics, audit=made.audit())
    found = said(verdict_of(read_folder(tmp_path)))
    assert "an AUC of 0.80, against 0.70 here" in found
    assert "widest pair" not in found


def test_one_undefined_seed_leaves_the_mean_undefined(made, tmp_path):
    for seed, gap in ((1, 0.01), (2, None)):
        metrics = made.metrics([*made.good[:5], gap, 0.01, 0.01])
        made.write(tmp_path / f"seed-{seed}", run=made.record(seed), metrics=metrics)
    assert verdict_of(read_folder(tmp_path)).facts[0].value == "undefined"


def probes(before, after, width=0.02):
    """A probe of the table and one after two hops."""
    return [
        {"on": on, "hop": hop, "probe": "linear", "auc": auc, "low": auc - width, "high": auc + width}
        for hop, on, auc in ((0, "X", before), (2, "S² X", after))
    ]


def test_a_graph_is_judged_by_what_message_passing_reveals(made, tmp_path):
    """All columns together lead, single flagged ones follow, then nothing."""
    audit = made.audit()
    del audit["model"]
    flagged = [channel["name"] for channel in audit["channels"] if channel["leaking"]]
    found = verdict_of(read_folder(made.write(tmp_path / "r", audit=audit | {"probe": probes(0.55, 0.91)})))
    assert (found.status, found.headline) == (
        "bad",
        "Message passing reveals Gender: from all columns together it can be guessed with AUC 0.91 after two hops, "
        "0.55 before.",
    )
    assert "Links alone can do this" in said(found)
    assert f"Flagged, with the correlation with Gender by hop: {flagged[0]} (" in said(found)
    found = verdict_of(read_folder(made.write(tmp_path / "a", audit=audit | {"probe": probes(0.72, 0.75)})))
    names = ", ".join(flagged[:6]) + (f" and {len(flagged) - 6} more" if len(flagged) > 6 else "")
    assert found.headline == f"Message passing reveals Gender in {len(flagged)} of 26 columns: {names}."
    assert found.status == "bad"
    assert "nothing is said about decisions" in said(found)
    for channel in audit["channels"]:
        channel["leaking"] = False
    found = verdict_of(read_folder(made.write(tmp_path / "n", audit=audit | {"probe": probes(0.90, 0.996, 0.003)})))
    assert "AUC 0.996 after two hops, 0.90 before" in found.headline
    assert "No single column is flagged." in said(found)
    for name, auc, low, status, end in (
        ("b", 0.51, 0.47, "good", ", and from all columns together it could not be guessed."),
        ("d", 0.99, 0.98, "unsure", ", but from all columns together it can be guessed with AUC 0.99 (0.5 is chance)."),
        ("e", None, None, "unsure", "; what all columns reveal together was not measured."),
    ):
        probe = [{"on": "S X", "probe": "linear", "auc": auc, "low": low, "high": auc}]
        found = verdict_of(read_folder(made.write(tmp_path / name, audit=audit | {"probe": probe})))
        start = "No single column is shown to reveal Gender after two hops of message passing"
        assert (found.status, found.headline) == (status, start + end)
    found = verdict_of(read_folder(made.write(tmp_path / "c", audit=audit | {"channels": [], "undefined": {"a": "b"}})))
    assert (found.status, found.warnings) == ("unsure", ("Undefined: a: b.",))


def test_a_better_guess_in_the_table_is_not_outdone_by_another_kind_of_guess(made, tmp_path):
    """The linear guess rises, but the nonlinear one had it before: message passing reveals nothing new."""
    audit = made.audit()
    del audit["model"]
    known = {"on": "X", "hop": 0, "probe": "nonlinear", "auc": 0.92, "low": 0.9, "high": 0.94}
    found = verdict_of(read_folder(made.write(tmp_path, audit=audit | {"probe": [*probes(0.55, 0.91), known]})))
    assert found.headline.startswith("Message passing reveals Gender in ")


def test_the_rule_is_for_everybody_and_has_the_numbers_of_the_document(made, tmp_path):
    audit = made.audit() | {"level": 0.01, "permutations": 999}
    del audit["model"]
    assert verdict_of(read_folder(made.write(tmp_path, audit=audit))).rule == (
        "A column is flagged if it is harmless in the table but clearly tied to the sensitive attribute after message "
        "passing (permutation test with 999 shuffles, 1 % level, corrected for testing many columns and hops)."
    )


def test_a_comparison_counts_what_is_beyond_chance(made, tmp_path):
    summary = made.summary()
    for row, (low, high) in zip(summary["rows"][1:], ((-0.2, -0.1), (-0.1, 0.1), (0.1, 0.2)), strict=True):
        row["difference"]["statistical_parity_gap"] = {"mean": (low + high) / 2, "low": low, "high": high}
    found = verdict_of(read_folder(made.write(tmp_path, summary=summary)))
    assert found.headline.startswith("1 of 3 models has a smaller statistical parity gap")
    assert "Smaller gap, beyond chance: FairVGNN · GCN." in said(found)
    for row in summary["rows"][1:]:
        row["difference"]["statistical_parity_gap"] = {"mean": 0.0, "low": -0.1, "high": 0.1}
    found = verdict_of(read_folder(made.write(tmp_path / "none", summary=summary)))
    assert found.headline == (
        "No model is shown to have a smaller statistical parity gap than the plain model, beyond chance."
    )
    alone = made.summary(["Plain · GCN", "FairVGNN · GCN"])
    alone["rows"][1]["difference"]["statistical_parity_gap"] = {"mean": -0.1, "low": -0.2, "high": -0.05}
    found = verdict_of(read_folder(made.write(tmp_path / "one", summary=alone)))
    assert found.headline.startswith("1 of 1 model has a smaller statistical parity gap")


def test_a_fair_but_useless_method_is_no_good_news(made, tmp_path):
    summary = made.summary(["Plain · GCN", "Constant · GCN"])
    summary["rows"][1]["low"]["auc"] = 0.5
    summary["rows"][1]["difference"]["statistical_parity_gap"] = {"mean": -0.2, "low": -0.3, "high": -0.1}
    found = verdict_of(read_folder(made.write(tmp_path, summary=summary)))
    assert found.status == "unsure"
    assert "a small gap says little: Constant · GCN" in said(found)


def test_without_an_interval_no_model_is_said_to_rank_better_than_chance(made, tmp_path):
    summary = made.summary(["Plain · GCN", "Constant · GCN"])
    for row in summary["rows"]:
        row["low"] = row["high"] = dict.fromkeys(row["mean"])
    found = said(verdict_of(read_folder(made.write(tmp_path, summary=summary))))
    assert "The smallest mean gap of a model" not in found
    assert "Not shown to rank better than chance" not in found  # nor the opposite: a single run can't tell
    assert "Without an interval, because there is one run or all are equal: Plain · GCN and Constant" in found


def test_a_run_without_test_numbers_says_so(made, tmp_path):
    found = verdict_of(read_folder(made.write(tmp_path, run=made.record())))
    assert (found.status, found.headline) == ("unsure", "This run has no test numbers.")


@pytest.mark.parametrize("word", ["fair ", "unbiased", "guarantee", "compliant"])
def test_the_verdict_promises_nothing(made, tmp_path, word):
    assert word not in said(verdict(made, tmp_path, groups=large_groups(made))).lower()
