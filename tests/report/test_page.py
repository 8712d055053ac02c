"""The page as text: complete, self-contained, small, and the same each time."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re

import pytest

from fairview.report import render, write_report
from fairview.report.folder import read_folder
from fairview.report.model_card import model_card
from fairview.report.page import bundle, inert_json


@pytest.fixture(scope="module")
def text(made, tmp_path_factory) -> str:
    return render(read_folder(made.run(tmp_path_factory.mktemp("run"))))


def without_script(text: str) -> str:
    return text.replace(bundle(), "")


def test_the_report_is_one_small_file_in_the_folder(made, run_folder):
    path = write_report(run_folder)
    assert path == run_folder / "report.html"
    assert path.stat().st_size < 2_000_000
    assert sorted(found.name for found in run_folder.iterdir() if "." in found.name) == [
        "audit.json",
        "history.jsonl",
        "metrics.json",
        "report.html",
        "run.json",
    ]


def test_the_same_documents_give_the_same_bytes(text, made, tmp_path):
    assert render(read_folder(made.run(tmp_path))) == text


def test_the_sections_come_in_the_order_of_importance(text):
    order = re.findall(r'<section id="([a-z]+)"', text)
    assert order == [
        "verdict",
        "leak",
        "mask",
        "probes",
        "tradeoff",
        "groups",
        "thresholds",
        "training",
        "made",
        "limits",
    ]


def test_nothing_is_loaded_from_elsewhere(text):
    page = without_script(text)
    assert not re.search(r"<(link|iframe|object|embed|img|base|form)\b", page)
    assert not re.search(r"\b(src|href|action)=\"(?!#)", page)
    assert "@import" not in page
    assert "url(" not in page


def test_the_policy_allows_one_script_by_its_hash_and_no_evaluation(text):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(policy[1]).split(";"))
    digest = base64.b64encode(hashlib.sha256(bundle().encode()).digest()).decode()
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert "unsafe-eval" not in policy[1]
    scripts = re.findall(r"<script(?! type=\"application/json\")[^>]*>", text)
    assert scripts == ["<script>"]


def test_every_chart_has_words_and_every_figure_a_table(text):
    page = without_script(text)
    charts = re.findall(r'<div class="chart" role="img" aria-label="([^"]+)"', page)
    assert len(charts) == 14
    assert all(len(words) > 30 for words in charts)
    for section in re.findall(r'<section id="[a-z]+" class="card".*?</section>', page, re.DOTALL):
        assert "<table>" in section or 'id="made"' in section or 'id="limits"' in section


def test_the_tables_hold_the_numbers_of_the_figures(text, made):
    audit = made.audit()
    page = without_script(text)
    for channel in audit["channels"]:
        assert f'<th scope="row">{channel["name"]}</th>' in page
        assert f"{channel['correlation'][2]:.3f}".replace("-", "−") in page
    assert "0.780 (0.75 to 0.81)" in page  # the model's AUC
    assert "70.0% (62.0 to 78.0)" in page  # a group's selection rate


def test_a_chart_holds_only_fixed_fields_and_plain_values(text):
    for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text):
        spec = json.loads(found)
        assert "calculate" not in found
        assert "labelExpr" not in found
        for rows in spec["datasets"].values() if "datasets" in spec else ():
            assert all(re.fullmatch("[a-z_]+", key) for row in rows for key in row)


def test_json_in_the_page_can_not_end_its_element():
    nasty = {"a": "</script><!--", "b": "]]>&amp;"}
    assert not set("<>&") & set(inert_json(nasty))
    assert json.loads(inert_json(nasty)) == nasty


def test_how_it_was_made_is_said(text):
    for word in (
        "9b97" * 16,
        "9ac2" * 16,
        "uci" if "uci" in text else "german.data",
        "3.11.7",
        "views",
        "permutations",
    ):
        assert word in text


def test_the_processor_is_named(made, tmp_path):
    machine = {"processor": "Some CPU @ 2 GHz", "cpu_capability": "AVX2"}
    record = made.record() | {"version": 2, "machine": machine, "notes": ["a split was drawn"]}
    page = without_script(render(read_folder(made.run(tmp_path, run=record))))
    for part in ("Some CPU @ 2 GHz", "cpu capability", "AVX2", "a split was drawn", "Another processor rounds"):
        assert part in page


def test_what_it_does_not_show_is_always_said(made, tmp_path):
    for name, documents in {"a": {"audit": made.audit()}, "b": {"summary": made.summary()}}.items():
        page = render(read_folder(made.write(tmp_path / name, **documents)))
        assert "A small gap is not proof of fairness." in page


@pytest.mark.parametrize("told", ["report", "card"])
def test_why_a_gap_has_no_interval_is_said(made, tmp_path, told):
    metrics = made.metrics()
    del metrics["test"]["intervals"]["statistical_parity_gap"]
    reason = "group Female has only 3 nodes, too few for an interval"
    metrics["test"]["intervals"]["undefined"] = {"statistical_parity_gap": reason}
    content = read_folder(made.run(tmp_path, metrics=metrics))
    page = render(content) if told == "report" else model_card(content)
    assert f"has no interval: {reason}." in page


def sections(text: str) -> list[str]:
    return re.findall(r'<section id="([a-z]+)"', text)


def test_missing_documents_make_a_shorter_report(made, tmp_path):
    for missing, gone in {"history": {"training"}, "audit": {"leak", "mask", "probes", "thresholds"}}.items():
        page = render(read_folder(made.run(tmp_path / missing, **{missing: None})))
        assert not gone & set(sections(page))
        assert {"verdict", "tradeoff", "groups", "made", "limits"} <= set(sections(page))


def test_missing_parts_of_an_audit_leave_their_figure_out(made, tmp_path):
    audit = made.audit()
    audit["channels"], audit["probe"] = [], []
    del audit["model"]["thresholds"], audit["model"]["representations"], audit["model"]["keep"], audit["model"]["rows"]
    del audit["model"]["theorem2"]
    page = render(read_folder(made.run(tmp_path, audit=audit)))
    assert sections(page) == ["verdict", "tradeoff", "groups", "training", "made", "limits"]


def test_masks_come_from_the_run_if_the_audit_has_none(made, tmp_path):
    audit = made.audit()
    audit["model"]["keep"] = None
    assert '<section id="mask"' in render(read_folder(made.run(tmp_path, audit=audit)))


def test_masks_per_hop_come_from_the_run_if_the_audit_has_none(made, tmp_path):
    audit, record = made.audit(), made.record()
    audit["model"]["keep"] = None
    name = audit["channels"][0]["name"]
    kept = {f"{channel['name']}@{hop}": 0.5 for hop in range(3) for channel in audit["channels"]} | {f"{name}@1": 0.125}
    record |= {"keep_probability": kept, "parameters": record["parameters"] | {"encoder": "sign"}}
    page = render(read_folder(made.run(tmp_path, audit=audit, run=record)))
    assert f"Kept least: {name}@1" in page
    assert "NAME@1 is a column after one hop" in page


def test_undefined_values_everywhere_still_make_a_page(made, tmp_path):
    audit = made.audit()
    for row in audit["model"]["rows"]:
        row |= {name: None for name in row if isinstance(row[name], float)}
        row["intervals"] = {}
    for channel in audit["channels"]:
        channel |= {"correlation": [None] * 3, "low": None, "high": None, "p_value": None, "rank": None, "change": None}
    for point in audit["model"]["thresholds"]["points"]:
        point |= {"statistical_parity_gap": None, "equal_opportunity_gap": None}
    metrics = made.metrics([None] * 8)
    page = render(
        read_folder(made.run(tmp_path, audit=audit, metrics=metrics, history='{"epoch": 1, "loss": {"a": null}}'))
    )
    assert "undefined" in page
    assert '<section id="leak"' not in page


def test_thousands_of_channels_stay_readable_and_small(made, tmp_path):
    audit = made.audit(names=[f"channel {place}" for place in range(5000)])
    path = write_report(made.write(tmp_path, audit=audit))
    page = path.read_text()
    assert path.stat().st_size < 2_000_000
    assert "The first 15 of 5,000 columns" in page
    assert "4,985 are left out; audit.json has them all." in page
    assert "the first 300 of 5,000" in page
