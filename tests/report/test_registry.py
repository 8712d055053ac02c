"""What others register shows up in reports: metrics, methods and figures; what is not registered does no harm."""

from __future__ import annotations

import json
import re

import pytest

import fairview as fv
from fairview.errors import InputError
from fairview.methods.registry import METHODS
from fairview.metrics.registry import METRICS
from fairview.report import render
from fairview.report.figures import figures_of
from fairview.report.figures.leak import leak_figure
from fairview.report.figures.registry import FIGURES
from fairview.report.folder import read_folder
from fairview.report.page import bundle
from fairview.report.verdict import verdict_of
from fairview.report.words import method_name

METRIC = fv.MetricEntry(
    name="predictive_parity_gap", short="PP gap", words="predictive parity gap", better="lower",
    group_rates=(lambda counts: counts[..., 0, 0],), compares="precision",
)  # fmt: skip


def village(content) -> fv.Figure:
    return fv.Figure(key="village", heading="Who lives there?", reading=content.title, panels=(), tables=())


FIGURE = fv.FigureEntry(name="village", contents="Villagers", make=village)


def text_of(folder) -> str:
    return render(read_folder(folder)).replace(bundle(), "")


def with_metric(row: dict, value: float = 0.3) -> dict:
    """A row, an epoch's numbers or an evaluation with the metric of another package."""
    return row | {METRIC.name: value}


def documents(made) -> dict:
    audit, metrics, summary = made.audit(), made.metrics(), made.summary()
    audit["model"]["rows"] = [with_metric(row) for row in audit["model"]["rows"]]
    metrics["test"] = with_metric(metrics["test"])
    metrics["test"]["undefined"] = {"unheard_of": "no reason"}
    for row in summary["rows"]:
        row["mean"] = with_metric(row["mean"])
        row["undefined"] = {"unheard_of": "no reason"}
        if row["difference"]:
            row["difference"][METRIC.name] = {"mean": -0.1, "low": -0.2, "high": -0.05}
    lines = [json.loads(line) for line in made.history().splitlines()]
    history = "".join(json.dumps(line | {"val": with_metric(line["val"])}) + "\n" for line in lines)
    return {"run": {"audit": audit, "metrics": metrics, "history": history}, "study": {"summary": summary}}


def test_a_metric_of_another_package_is_shown_where_it_is_registered_and_ignored_elsewhere(made, tmp_path):
    found = documents(made)
    run = made.run(tmp_path / "run", **found["run"])
    study = made.write(tmp_path / "study", **found["study"])
    for folder in (run, study):
        assert "predictive" not in text_of(folder)
        assert "unheard_of" not in text_of(folder)
    with METRICS.added(METRIC):
        assert "The gap in precision between the groups is 30.0 points" in " ".join(
            verdict_of(read_folder(run)).sentences
        )
        assert "Gap in precision" in text_of(run)
        panels = [panel.key for figure in figures_of(read_folder(run)) for panel in figure.panels]
        assert "tradeoff-predictive-parity-gap" in panels
        assert len(panels) == len(set(panels))
        figures = {figure.key: figure for figure in figures_of(read_folder(study))}
        assert "difference-predictive-parity-gap" in [panel.key for panel in figures["comparison"].panels]
        assert "(−0.200 to −0.050), better" in str(figures["comparison"].tables[0].rows)
        assert "predictive parity gap" in figures["tradeoff"].tables[0].columns
    assert "predictive" not in text_of(run)


def test_documents_of_before_a_metric_was_registered_still_open(made, tmp_path):
    with METRICS.added(METRIC):
        page = text_of(made.run(tmp_path / "run"))
        assert "Gap in precision" not in page  # nobody measured it
        assert "predictive parity gap" in page  # the table says that it is not known
        assert "predictive parity gap" in text_of(made.write(tmp_path / "study", summary=made.summary()))


def test_a_wrong_value_of_a_registered_metric_is_an_error(made, tmp_path):
    metrics = made.metrics()
    metrics["test"]["auc"] = "high"
    with pytest.raises(InputError, match=r"metrics\.json: test\.metrics\.auc: input should be a valid number"):
        read_folder(made.run(tmp_path, metrics=metrics))


def test_figures_of_others_appear_for_runs_audits_and_comparisons(made, tmp_path):
    folders = (
        made.run(tmp_path / "run"),
        made.write(tmp_path / "audit", audit=made.audit()),
        made.write(tmp_path / "study", summary=made.summary()),
    )
    with FIGURES.added(FIGURE):
        for folder in folders:
            page = text_of(folder)
            assert re.search(r'<section id="village".*?Who lives there\?.*?german', page, re.DOTALL)
            assert '<li><a href="#village">Villagers</a></li>' in page
    assert "Villagers" not in text_of(folders[0])


def test_every_figure_is_in_the_contents(made, tmp_path):
    page = text_of(made.run(tmp_path, summary=made.summary()))
    listed = re.findall(r'<li><a href="#([a-z]+)">([^<]+)</a></li>', page)
    assert [key for key, _ in listed] == re.findall(r'<section id="([a-z]+)"', page)
    assert listed[1:3] == [("tradeoff", "Cost of fairness"), ("comparison", "Differences")]


def test_a_taken_name_or_something_else_than_an_entry_is_refused():
    with pytest.raises(InputError, match="figure 'leak': the name is taken"):
        fv.register_figure(fv.FigureEntry("leak", "Leak", village))
    with pytest.raises(InputError, match="figure: expected a FigureEntry, got function"):
        fv.register_figure(village)


def test_methods_are_named_as_their_entry_says_and_unknown_ones_as_they_are(made):
    entry = fv.MethodEntry(name="prior", words="prior of the village", target="outside:Prior")
    assert method_name("prior") == "prior"
    with METHODS.added(entry):
        assert method_name("prior") == "prior of the village"
    assert method_name("gradient-boosting") == "gradient boosting"
    assert method_name("plain") == method_name("vanilla") == "plain model"
    assert method_name("os:system") == "os:system"  # shown, never imported


# --- long lists -------------------------------------------------------------------------------------------------------


def test_a_one_hot_column_has_one_line_and_the_full_table_all_categories(made, tmp_path):
    names = ["Gender", "age", *(f"job={place}" for place in range(20)), "home=own", "=odd", "a=b"]
    figure = leak_figure(read_folder(made.write(tmp_path, audit=made.audit(names=names))).audit)
    assert figure is not None
    short, full, _ = figure.tables
    assert len(short.rows) == 6
    (job,) = [row[0] for row in short.rows if row[0].startswith("job=")]
    assert job.endswith(" (strongest of 20 categories)")
    assert {"age", "home=own", "=odd", "a=b"} <= {row[0] for row in short.rows}
    assert {row[0] for row in full.rows} == set(names)
    assert "A column with categories has one line: that of its strongest category." in figure.notes
    order = [row[0] for row in full.rows if row[0].startswith("job=")]
    assert job.startswith(f"{order[0]} ")


def test_several_seeds_have_a_mean_and_a_deviation(made, tmp_path):
    for seed, auc in ((1, 0.60), (2, 0.80)):
        metrics = made.metrics([auc, *made.good[1:6], None, None])
        made.write(tmp_path / f"seed-{seed}", run=made.record(seed), metrics=metrics)
    (tradeoff,) = [figure for figure in figures_of(read_folder(tmp_path)) if figure.key == "tradeoff"]
    table = tradeoff.tables[1]
    assert table.caption == "Mean and deviation over 2 runs"
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["AUC"] == ("0.700", "0.100")
    assert rows["equal opportunity gap"] == ("undefined", "undefined")


def test_a_comparison_shows_mean_and_deviation(made, tmp_path):
    (tradeoff, _) = figures_of(read_folder(made.write(tmp_path, summary=made.summary())))
    assert tradeoff.tables[0].caption == (
        "All models; mean ± deviation over runs, 95% intervals over splits and seeds in brackets"
    )
    assert tradeoff.tables[0].rows[0][1] == "0.800 ±\u00a00.010 (0.78 to 0.82)"
