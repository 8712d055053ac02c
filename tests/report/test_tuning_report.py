"""The report of a tuning: certified, refused or the knee; frontier, certificate, cost, and moving the limit."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from fairview.errors import InputError
from fairview.report import render, write_report
from fairview.report.export import write_figures
from fairview.report.figures import figures_of
from fairview.report.figures.frontier import NOBODY, NOWHERE, WITH_GROUP, WITHOUT_GROUP, frontier_figure
from fairview.report.folder import read_folder
from fairview.report.page import bundle
from fairview.report.tuning_documents import TuningDocument
from fairview.report.verdict import frame_of, verdict_of

THREE = ("statistical_parity", "equal_opportunity", "equalized_odds")


def document(tuning: dict) -> TuningDocument:
    return TuningDocument.model_validate_json(json.dumps(tuning))


def drawn(figure, panel: int = 0) -> dict[str, list[dict]]:
    """What is drawn in each layer that has data, by the layer's mark."""
    spec = figure.panels[panel].spec()
    layers: dict[str, list[dict]] = {}
    for layer in spec["layer"]:
        values = layer["data"].get("values", spec.get("datasets", {}).get(layer["data"].get("name"), []))
        layers.setdefault(layer["mark"]["type"], []).append(values)
    return layers


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_tuning_folder_has_its_run_inside(made, tmp_path):
    content = read_folder(made.tuned(tmp_path))
    assert content.tuning is not None
    assert (len(content.tuning.frontier), content.title) == (14, "german")
    assert content.run is not None
    assert content.run.certificate is not None
    assert content.run.certified_model is True
    assert content.audit is not None


def test_a_refusal_has_no_run(made, tmp_path):
    content = read_folder(made.tuned(tmp_path, made.tuning(refused=True)))
    assert (content.runs, content.audit) == ((), None)


@pytest.mark.parametrize("key", ["graph", "chosen", "refusal", "metrics", "frontier", "yardsticks", "choices", "nodes"])
def test_a_tuning_may_lack_any_part(made, tmp_path, key):
    tuning = made.tuning(refused=key == "refusal")
    del tuning[key]
    if key == "frontier":
        tuning["chosen"] = None
        tuning["choices"] = []
    made.write(tmp_path, tune=tuning)
    assert "Verdict" in render(read_folder(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "version: input should be 1"),
        ({"kind": "study"}, "kind: input should be 'tuning'"),
        ({"limits": [{"gap": "statistical_parity", "limit": 5}]}, "limits.0.limit: input should be less than or equal"),
        ({"frontier": "many"}, "frontier: input should be a valid array"),
        ({"confidence": "high"}, "confidence: input should be a valid number"),
        ({"choices": [{"limit": 0.05, "candidate": 99}]}, "candidate 99 is named; expected one of the 14 in frontier"),
        ({"chosen": {"candidate": -1}}, "chosen.candidate: input should be greater than or equal to 0"),
        ({"population": "everybody"}, "population: input should be 'new' or 'graph'"),
    ],
)
def test_a_wrong_tuning_is_an_error_that_names_the_place(made, tmp_path, change, message):
    with pytest.raises(InputError) as caught:
        read_folder(made.write(tmp_path, tune=made.tuning() | change))
    assert message in str(caught.value)


def test_a_certificate_without_limits_promises_nothing_and_is_an_error(made, tmp_path):
    with pytest.raises(InputError, match=r"certificate\.json: limits: list should have at least 1 item"):
        read_folder(made.run(tmp_path, certificate=made.certificate() | {"limits": []}))


# --- verdict ----------------------------------------------------------------------------------------------------------


def test_a_certified_model_is_said_with_its_cost_and_what_no_limit_was_set_on(made, tmp_path):
    verdict = verdict_of(read_folder(made.tuned(tmp_path)))
    assert verdict.status == "good"
    assert verdict.headline == (
        "A model keeps the limit, certified with 95% confidence: statistical parity gap of at most 5.0 points."
    )
    assert verdict.sentences == (
        "Chosen: Parity, λ 9 at the threshold 0.5, among 14 models on german (1,000 nodes), groups by Gender: "
        "Male 690 and Female 310.",
        "Statistical parity gap: limit 5.0 points; measured 2.0 points on 250 nodes that were kept for it; its own "
        "test would pass down to 4.1 points.",
        "What the limit cost in balanced accuracy, against the most useful model without a limit: 69.7% against 72.0% "
        "on the validation nodes, 2.3 points less; 70.0% against 71.0% on the test nodes, 1.0 points less.",
        "No limit was set on the equal opportunity gap; on the test nodes it is 1.2 points (95% interval 0.0 to 4.2).",
    )
    assert [fact.value for fact in verdict.facts] == ["5.0 points", "70.0%", "1.0 points", "250"]


def test_three_limits_are_counted_in_the_headline(made, tmp_path):
    verdict = verdict_of(read_folder(made.tuned(tmp_path, made.tuning(THREE))))
    assert verdict.headline == "A model keeps all three limits, certified with 95% confidence."
    assert [fact.name for fact in verdict.facts][:3] == [
        "Statistical parity gap, at most", "Equal opportunity gap, at most", "Equalized odds gap, at most",
    ]  # fmt: skip
    assert not [sentence for sentence in verdict.sentences if sentence.startswith("No limit")]


def test_a_refusal_says_what_was_asked_and_what_would_help(made, tmp_path):
    content = read_folder(made.tuned(tmp_path, made.tuning(refused=True)))
    verdict, frame = verdict_of(content), frame_of(content)
    assert verdict.status == "unsure"
    assert verdict.headline == "Refused: no model could be shown to keep the limit with 95% confidence."
    assert [fact.value for fact in verdict.facts] == ["5.0 points", "8.3 points", "250", "2,400"]
    assert frame is not None
    assert (frame.title, frame.statement) == ("Refusal", "None of 14 candidates could be shown to keep the limit.")
    assert frame.rows[0][3] == "8.3 points"
    parts = dict(frame.parts)
    assert parts["What was nearest"] == ("Parity, λ 12; its numbers are in the table above.",)
    assert parts["What could be certified"][0].startswith("With the 250 nodes at hand, a limit of 8.3 points could be")
    assert parts["How many nodes are needed"] == (
        "About 2,400 nodes would be needed in the certification for the limit asked for; there are 250.",
    )


def test_a_refusal_without_numbers_does_not_invent_them(made, tmp_path):
    tuning = made.tuning(refused=True)
    tuning["refusal"] = {"nearest": None, "certifiable": None, "nodes_at_hand": 40, "nodes_needed": None}
    content = read_folder(made.write(tmp_path, tune=tuning))
    assert "Nodes needed" not in [fact.name for fact in verdict_of(content).facts]
    frame = frame_of(content)
    assert frame is not None
    parts = dict(frame.parts)
    assert "What was nearest" not in parts
    assert "none of the limits that were looked at could be certified" in parts["What could be certified"][0]
    assert parts["How many nodes are needed"][0].startswith("No number of nodes is known to be enough.")


def test_the_knee_promises_nothing(made, tmp_path):
    content = read_folder(made.tuned(tmp_path, made.tuning(())))
    verdict = verdict_of(content)
    assert verdict.headline == ("No limit was asked for: the knee of the frontier was taken, and nothing is certified.")
    assert frame_of(content) is None
    assert 'id="certificate"' not in render(content)


def test_a_limit_that_cost_nothing_is_said_so(made, tmp_path):
    tuning = made.tuning()
    tuning["yardsticks"][1]["test"] |= {"balanced_accuracy": 0.68}
    verdict = verdict_of(read_folder(made.tuned(tmp_path, tuning)))
    assert "70.0% against 68.0% on the test nodes, 2.0 points more." in verdict.sentences[2]
    assert {fact.name: fact.value for fact in verdict.facts}["Cost of the limit"] == "none"


def test_without_an_audit_the_frontier_stands_for_the_tradeoff(made, tmp_path):
    keys = [figure.key for figure in figures_of(read_folder(made.tuned(tmp_path, audit=None)))]
    assert keys == ["frontier", "groups"]


def test_a_certified_model_that_is_useless_is_no_good_news(made, tmp_path):
    tuning = made.tuning()
    tuning["metrics"]["test"] |= {"balanced_accuracy": 0.51}
    tuning["metrics"]["test"]["intervals"]["balanced_accuracy"] = {"low": 0.48, "high": 0.54}
    verdict = verdict_of(read_folder(made.tuned(tmp_path, tuning)))
    assert (verdict.status, verdict.headline) == (
        "empty",
        "A model keeps the limit, but it is not shown to be better than giving everyone the same answer.",
    )


def test_a_test_that_contradicts_the_certificate_is_a_warning(made, tmp_path):
    tuning = made.tuning()
    tuning["metrics"]["test"]["intervals"]["statistical_parity_gap"] = {"low": 0.07, "high": 0.12}
    (warning,) = verdict_of(read_folder(made.tuned(tmp_path, tuning))).warnings
    assert warning == (
        "On the test nodes the statistical parity gap is 7.0 to 12.0 points (95% interval), above the limit of 5.0 "
        "points. Find out why before you use this model."
    )


def test_a_chosen_model_that_needs_the_group_is_a_warning(made, tmp_path):
    tuning = made.tuning()
    tuning["chosen"]["group_at_prediction"] = True
    (warning,) = verdict_of(read_folder(made.tuned(tmp_path, tuning))).warnings
    assert warning.startswith("This model needs each person's group when it predicts.")


# --- certificate ------------------------------------------------------------------------------------------------------


def test_the_certificate_says_nodes_conditions_what_voids_it_and_the_hash(made, tmp_path):
    frame = frame_of(read_folder(made.tuned(tmp_path)))
    assert frame is not None
    assert (frame.status, frame.title) == ("good", "Certificate")
    assert frame.statement == "With 95% confidence, the shares of positive predictions differ by at most 5.0 points."
    assert frame.rows == (("Statistical parity gap", "5.0 points", "2.0 points", "4.1 points", "0.0130", "95%", "250"),)
    parts = dict(frame.parts)
    assert "at most 5 in 100 of these choices" in parts["What the confidence means"][0]
    assert parts["On which nodes"] == (
        "The statistical parity gap was tested on 250 nodes that neither fitting nor choosing had used: Male 160 (90 "
        "with a yes) and Female 90 (50 with a yes).",
    )
    assert parts["Under which conditions"] == tuple(made.certificate()["conditions"])
    assert [sentence.split(":")[0] for sentence in parts["What voids it"]] == [
        "Refitting the model, on the same data too",
        "Another threshold than 0.5.",
        "Another population",
        "A limit that was chosen after looking at the nodes of the certification.",
    ]
    assert frame.hashes[0] == ("sha256 of the model", "5eed" * 16)


def test_conditional_gaps_name_the_labels_among_which_they_were_tested(made, tmp_path):
    frame = frame_of(read_folder(made.tuned(tmp_path, made.tuning(THREE))))
    assert frame is not None
    _, opportunity, odds = dict(frame.parts)["On which nodes"]
    counts = "Male 160 (90 with a yes) and Female 90 (50 with a yes)"
    assert opportunity.endswith(f"had used: with a positive label, {counts}.")
    assert odds.endswith(f"had used: with a positive label, {counts}; with a negative label, {counts}.")


def test_without_conditions_the_population_gives_them(made, tmp_path):
    certificate = made.certificate() | {"conditions": [], "population": "graph"}
    frame = frame_of(read_folder(made.tuned(tmp_path, certificate=certificate)))
    assert frame is not None
    assert dict(frame.parts)["Under which conditions"] == (
        "It is about the nodes of this graph that took no part in fitting; it says nothing about other nodes.",
    )


def test_a_run_with_a_certificate_shows_it_below_its_own_verdict(made, tmp_path):
    content = read_folder(made.run(tmp_path, certificate=made.certificate()))
    assert verdict_of(content).headline.startswith("The gaps between the groups are small")
    frame = frame_of(content)
    assert frame is not None
    assert dict(frame.parts)["Is it about this model?"][0].startswith("That was not checked")
    page = render(content)
    assert page.index('id="verdict"') < page.index('<section id="certificate"') < page.index('<section id="leak"')


@pytest.mark.parametrize("model", [{"sha256": "0" * 64}, {}, [], "{"])
def test_another_model_voids_the_certificate(made, tmp_path, model):
    content = read_folder(made.tuned(tmp_path, model=model))
    verdict, frame = verdict_of(content), frame_of(content)
    assert verdict.status == "bad"
    assert verdict.headline == ("The certificate is void: the model in this folder is not the one that was tested.")
    assert frame is not None
    assert (frame.status, frame.title) == ("bad", "Void certificate")
    assert frame.statement.endswith("Nothing is promised about it.")


def test_the_hash_of_the_model_file_counts_too(made, tmp_path):
    text = '{"threshold": 0.5}'
    certificate = made.certificate() | {"model_sha256": hashlib.sha256(text.encode()).hexdigest()}
    content = read_folder(made.tuned(tmp_path, model=text, certificate=certificate))
    assert content.run is not None
    assert content.run.certified_model is True


def test_a_tuning_whose_certificate_is_missing_is_not_called_certified_in_the_frame(made, tmp_path):
    frame = frame_of(read_folder(made.tuned(tmp_path, certificate=None)))
    assert frame is not None
    assert frame.title == "No certificate"
    assert "run/certificate.json is missing" in frame.statement


# --- frontier ---------------------------------------------------------------------------------------------------------


def test_the_frontier_is_strong_and_joined_and_the_rest_faint(made):
    figure = frontier_figure(document(made.tuning(candidates=60, grouped=12)))
    assert figure is not None
    faint, strong, _ = drawn(figure)["point"]
    assert (len(faint), len(strong)) == (20, 40 + 2)
    (line,) = drawn(figure)["line"]
    for series in (WITHOUT_GROUP, WITH_GROUP):
        joined = [(row["gap"], row["utility"]) for row in line if row["series"] == series]
        assert joined == sorted(joined)
        assert [utility for _, utility in joined] == sorted(utility for _, utility in joined)
        assert len(joined) > 3


def test_models_that_need_the_group_are_told_apart_in_the_chart_and_in_words(made):
    figure = frontier_figure(document(made.tuning(grouped=4, candidates=18)))
    assert figure is not None
    _, strong, _ = drawn(figure)["point"]
    assert {row["series"] for row in strong if row["name"].startswith("Group thresholds")} == {WITH_GROUP}
    assert {row["series"] for row in strong if row["name"].startswith("Parity")} == {WITHOUT_GROUP}
    column = figure.tables[0].columns.index("needs the group")
    assert {row[0].split(",")[0]: row[column] for row in figure.tables[0].rows[:-2]} == {
        "Parity": "no", "Group thresholds": "yes",
    }  # fmt: skip
    assert "Hollow diamonds are models that need each person's group" in figure.reading


def test_each_limited_gap_has_a_panel_with_its_own_limit(made):
    tuning = made.tuning(THREE)
    for limit, value in zip(tuning["limits"], (0.02, 0.05, 0.1), strict=True):
        limit["limit"] = value
    figure = frontier_figure(document(tuning))
    assert figure is not None
    assert [panel.key for panel in figure.panels] == [f"frontier-{gap.replace('_', '-')}-gap" for gap in THREE]
    starts = [{p["name"]: p["value"] for p in panel.spec()["params"]} for panel in figure.panels]
    assert starts == [{f"limit_{place}": 100 * v, "taken": 9} for place, v in enumerate((0.02, 0.05, 0.1))]


def test_without_a_limit_the_gaps_asked_for_are_drawn_and_the_line_lies_outside(made):
    figure = frontier_figure(document(made.tuning(()) | {"gaps": ["equal_opportunity"]}))
    assert figure is not None
    assert [panel.key for panel in figure.panels] == ["frontier-equal-opportunity-gap"]
    figure = frontier_figure(document(made.tuning(()) | {"gaps": []}))
    assert figure is not None
    assert len(figure.panels) == 2  # the main gaps
    assert {p["name"]: p["value"] for p in figure.panels[0].spec()["params"]} == {"limit_0": NOWHERE, "taken": 9}


def test_a_gap_that_is_not_registered_is_never_a_file_name(made, tmp_path):
    tuning = made.tuning()
    tuning["limits"][0]["gap"] = tuning["chosen"]["limits"][0]["gap"] = "../../outside"
    content = read_folder(made.tuned(tmp_path, tuning))
    names = {path.name for path in write_figures(figures_of(content), tmp_path / "figures", ["svg"])}
    assert {"frontier-statistical-parity-gap.svg", "frontier-equal-opportunity-gap.svg"} <= names
    assert not [name for name in names if "outside" in name]


def test_undefined_gaps_are_left_out_of_the_chart_and_named_in_the_table(made):
    tuning = made.tuning()
    for row in tuning["frontier"]:
        row["metrics"] |= {"statistical_parity_gap": None}
    for row in tuning["yardsticks"]:
        row["metrics"] = row["metrics"] | {"statistical_parity_gap": None}
    figure = frontier_figure(document(tuning))
    assert figure is not None
    assert figure.panels == ()
    assert figure.reading.startswith("Nothing can be drawn")
    assert "undefined" in figure.tables[0].rows[0][6]


def test_the_table_has_every_candidate_the_chosen_one_first_and_the_yardsticks_last(made):
    figure = frontier_figure(document(made.tuning(candidates=60, grouped=12)))
    assert figure is not None
    rows = figure.tables[0].rows
    assert len(rows) == 62
    assert rows[0][1] == "chosen, certified"
    assert [row[0] for row in rows[-2:]] == ["majority answer", "best without a limit"]
    assert {len(row) for row in rows} == {len(figure.tables[0].columns)}


# --- moving the limit -------------------------------------------------------------------------------------------------


def test_the_slider_says_for_each_limit_who_would_be_taken_and_what_it_costs(made):
    figure = frontier_figure(document(made.tuning()))
    assert figure is not None
    slider = figure.slider
    assert slider is not None
    assert (len(slider.steps), slider.steps[slider.start].name) == (10, "5.0 points")
    first, asked = slider.steps[0], slider.steps[slider.start]
    assert (first.result, first.text) == ("Refusal", "No candidate could be shown to keep this limit.")
    assert first.parameters == {"limit_0": 0.5, "taken": NOBODY}
    assert asked.result == "Parity, λ 9"
    assert asked.text == (
        "Balanced accuracy 69.7%, 2.3 points less than the most useful model without a limit (72.0%)."
    )
    assert asked.parameters == {"limit_0": 5.0, "taken": 9}
    assert [row[0] for row in slider.table.rows] == [step.name for step in slider.steps]
    assert "not covered by any certificate" in slider.caution


def test_the_limit_asked_for_is_a_place_of_the_slider_even_off_the_grid(made):
    tuning = made.tuning()
    tuning["limits"][0]["limit"] = 0.037
    figure = frontier_figure(document(tuning))
    assert figure is not None
    assert figure.slider is not None
    assert figure.slider.steps[figure.slider.start].name == "3.7 points"
    assert figure.slider.steps[figure.slider.start].parameters["taken"] == 9


def test_a_model_that_is_taken_but_not_shown_is_no_refusal(made):
    tuning = made.tuning()
    tuning["choices"][5] = {"limit": 0.08, "candidate": None, "utility": 0.7}
    figure = frontier_figure(document(tuning))
    assert figure is not None
    assert figure.slider is not None
    step = figure.slider.steps[5]
    assert step.result == "A candidate that is not shown"
    assert step.text.startswith("Balanced accuracy 70.0%, 2.0 points less")
    assert figure.slider.table.rows[5][2:] == ("70.0%", "2.0 points")


def test_one_model_at_two_thresholds_has_two_names(made):
    tuning = made.tuning()
    for row, threshold in zip(tuning["frontier"][:2], (0.41, 0.52), strict=True):
        row |= {"label": "Parity, λ 3 again", "threshold": threshold}
    figure = frontier_figure(document(tuning))
    assert figure is not None
    names = {row[0] for row in figure.tables[0].rows}
    assert {"Parity, λ 3 again, threshold 0.410", "Parity, λ 3 again, threshold 0.520", "Parity, λ 2"} <= names


def test_without_choices_there_is_no_slider(made, tmp_path):
    tuning = made.tuning()
    tuning["choices"] = []
    page = render(read_folder(made.tuned(tmp_path, tuning))).replace(bundle(), "")
    assert 'type="range"' not in page


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_leads_with_verdict_certificate_and_frontier(made, tmp_path):
    page = write_report(made.tuned(tmp_path)).read_text().replace(bundle(), "")
    order = re.findall(r'<section id="([a-z]+)"', page)
    assert order[:4] == ["verdict", "certificate", "frontier", "leak"]
    assert re.findall(r'<li><a href="#([a-z]+)">', page) == order
    assert "Model under a limit" in page
    for fact in ("limit on the statistical parity gap", "nodes for certification", "seconds, total"):
        assert f"<dt>{fact}</dt>" in page


def test_names_from_a_tuning_never_get_into_an_expression(made, tmp_path):
    import vl_convert

    tuning = made.tuning(grouped=3, candidates=12)
    for place, row in enumerate(tuning["frontier"]):
        row |= {"label": f"MARK{place}", "method": "MARKm", "settings": {"MARKs": "MARKv"}}
    tuning["yardsticks"][1]["label"] = "MARKplain"
    tuning["graph"]["sensitive"] = "MARKa"

    def texts(part, place=""):
        if isinstance(part, dict):
            return [found for key, value in part.items() for found in texts(value, f"{place}.{key}")]
        if isinstance(part, list):
            return [found for value in part for found in texts(value, f"{place}[]")]
        return [(place, part)] if isinstance(part, str) else []

    seen = 0
    figure = frontier_figure(document(tuning))
    assert figure is not None
    for panel in figure.panels:
        for place, text in texts(vl_convert.vegalite_to_vega(panel.spec())):
            assert "MARK" not in text or place == ".description" or ".values[]" in place, (place, text)
            seen += "MARK" in text
    assert seen > 10
