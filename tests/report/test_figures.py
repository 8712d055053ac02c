"""Figures: which there are, what they show, and the same charts as files."""

from __future__ import annotations

import json

import pytest
import vl_convert

from fairview.errors import InputError
from fairview.report.export import write_figures
from fairview.report.figures import figures_of
from fairview.report.figures.charts import PALETTE, SHAPES, Series
from fairview.report.figures.leak import leak_figure
from fairview.report.figures.threshold_curve import thresholds_figure
from fairview.report.figures.training import thinned, training_figure
from fairview.report.folder import read_folder
from fairview.report.words import distinct


@pytest.fixture(scope="module")
def content(made, tmp_path_factory):
    return read_folder(made.run(tmp_path_factory.mktemp("run")))


def values(panel, layer: int) -> list[dict]:
    spec = panel.spec()
    data = spec["layer"][layer]["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


def test_every_panel_has_a_title_words_and_a_tooltip(content):
    for figure in figures_of(content):
        assert figure.reading.endswith(".")
        for panel in figure.panels:
            spec = panel.spec()
            assert spec["title"]
            assert spec["description"] == panel.text
            assert "tooltip" in json.dumps(spec)


def texts(document, place: str = "") -> list[tuple[str, str]]:
    """Every text of a document with its place in it."""
    if isinstance(document, dict):
        return [found for key, value in document.items() for found in texts(value, f"{place}.{key}")]
    if isinstance(document, list):
        return [found for value in document for found in texts(value, f"{place}[]")]
    return [(place, document)] if isinstance(document, str) else []


def test_names_from_the_data_never_get_into_an_expression(made, tmp_path):
    """Vega-Lite turns some settings (a sort by list, say) into expressions; ours must not, whatever it is called."""
    names, groups = [f"MARK{place}" for place in range(5)], ["MARKa", "MARKb", "MARKc"]
    audit = made.audit(names, groups)
    audit["probe"] += [{"on": "MARKon", "probe": "MARKkind", "auc": 0.7}]
    audit["model"]["rows"] += [audit["model"]["rows"][0] | {"name": "MARKrow"}]
    audit["hidden"] = [hidden_row("MARKhidden", 0.9, measure="MARKmeasure")]
    history = '{"epoch": 1, "loss": {"MARKloss": 1.0}}\n{"epoch": 2, "loss": {"MARKloss": 0.5}}'
    run = made.run(tmp_path / "run", audit=audit, history=history)
    study = made.write(tmp_path / "study", summary=made.summary(["Plain", "MARKone", "MARKtwo · MARK"]))
    allowed = {".description", ".title.text", ".title.text[]"}
    seen = 0
    for folder in (run, study):
        for panel in (panel for figure in figures_of(read_folder(folder)) for panel in figure.panels):
            compiled = vl_convert.vegalite_to_vega(panel.spec())
            for place, text in texts(compiled):
                inert = place in allowed or place.endswith(".domain[]") or ".values[]" in place
                assert "MARK" not in text or inert, (panel.key, place, text)
                seen += "MARK" in text
    assert seen > 100


def hidden_row(name, score, **more):
    part = {"score": score, "low": score - 0.02, "high": score + 0.02}
    scores = {"from_channels": {"score": 0.1}, "from_graph": part, "difference": part}
    return {"name": name, "kind": "number", "measure": "R²", "nodes": 900, "readable": True} | scores | more


def test_hidden_columns_have_a_figure_with_and_without_links(made, tmp_path):
    undefined = dict.fromkeys(("from_channels", "from_graph", "difference"))
    rows = [hidden_row("TIME", 0.9), hidden_row("rent", 0.0, **undefined, readable=False, undefined="it is constant")]
    content = read_folder(made.run(tmp_path, audit=made.audit() | {"hidden": rows}))
    (figure,) = [figure for figure in figures_of(content) if figure.key == "hidden"]
    assert figure.answer == (
        "THE GRAPH KNOWS A HIDDEN COLUMN: TIME (R² 0.90 from columns and links, 0.10 from the columns alone)."
    )
    (panel,) = figure.panels
    assert [row["series"] for row in values(panel, 1)] == ["from the columns", "from columns and links"]
    assert figure.tables[0].rows[0][-1] == "known to the links"
    assert figure.tables[0].rows[1][-1] == "it is constant"


def test_without_hidden_columns_there_is_no_such_figure(content):
    assert "hidden" not in [figure.key for figure in figures_of(content)]


def test_leaking_channels_come_first_below_the_sensitive_one(content, made):
    figure = leak_figure(content.audit)
    assert figure is not None
    rows = [row[0] for row in figure.tables[0].rows]
    leaking = {channel["name"] for channel in made.audit()["channels"] if channel["leaking"]}
    assert rows[0] == "Gender"
    assert set(rows[1 : 1 + len(leaking)]) == leaking
    drawn = values(figure.panels[0], 0)
    assert {row["name"] for row in drawn if row["series"] == "flagged"} == leaking


def test_the_leak_picture_shows_sizes_and_keeps_signs_for_the_tooltip(content):
    marks = values(leak_figure(content.audit).panels[0], 1)
    assert all(row["value"] == abs(row["signed"]) for row in marks)
    assert len(marks) == 15 * 3


def test_the_kept_epoch_is_drawn_and_listed(content):
    figure = training_figure(content.runs[0].history, 40)
    assert figure is not None
    assert [panel.key for panel in figure.panels] == ["training-loss", "training-utility", "training-gaps"]
    assert any(row[0] == "40 (kept)" for row in figure.tables[0].rows)
    assert all("epoch 40 kept" in panel.text for panel in figure.panels)


def test_thinning_keeps_the_ends_and_the_kept_epoch(content):
    history = content.runs[0].history
    few = [epoch.epoch for epoch in thinned(history, 7, kept=31)]
    assert (few[0], few[-1], 31 in few, len(few) <= 9) == (1, 60, True, True)


def test_flat_ends_of_the_thresholds_are_not_drawn(content):
    points = content.audit.model.thresholds.points
    nothing = {"accuracy": 0.5, "statistical_parity_gap": 0.0, "equal_opportunity_gap": 0.0}
    flat = [point.model_copy(update={"metrics": nothing})
            if not 20 <= place < 30 else point for place, point in enumerate(points)]  # fmt: skip
    thresholds = content.audit.model.thresholds.model_copy(update={"points": flat})
    figure = thresholds_figure(thresholds)
    assert len(figure.tables[0].rows) == 51
    drawn = {row["threshold"] for row in values(figure.panels[1], 2)}
    assert (min(drawn), max(drawn)) == (points[16].threshold, points[33].threshold)


def test_series_differ_in_colour_and_in_shape():
    assert len(set(PALETTE)) == len(PALETTE) == len(set(SHAPES))
    series = Series([f"group {place}" for place in range(8)])
    assert series.color().to_dict()["scale"]["range"][:6] == list(PALETTE)
    assert series.shape().to_dict()["scale"]["range"][:6] == list(SHAPES)


def test_names_that_look_alike_stay_apart():
    assert distinct(["a" * 100, "a" * 99 + "b", "a", ""], limit=9) == ["aaaaaaaa…", "aaaaaaaa… (2)", "a", "(no name)"]


def test_a_comparison_has_its_own_figures(made, tmp_path):
    content = read_folder(made.write(tmp_path, summary=made.summary()))
    tradeoff, comparison = figures_of(content)
    assert [figure.key for figure in (tradeoff, comparison)] == ["tradeoff", "comparison"]
    assert len(comparison.panels) == 5
    assert {row["kind"] for row in values(tradeoff.panels[0], 2)} == {"GCN", "GIN"}


def test_several_seeds_are_points_of_their_own(made, tmp_path):
    for seed in (1, 2, 3):
        made.write(tmp_path / f"seed-{seed}", run=made.record(seed), metrics=made.metrics(), audit=made.audit())
    tradeoff = next(figure for figure in figures_of(read_folder(tmp_path)) if figure.key == "tradeoff")
    assert [row[0] for row in tradeoff.tables[0].rows] == [
        "seed 1",
        "seed 2",
        "seed 3",
        "plain model",
        "majority answer",
    ]


def test_charts_are_written_as_svg_and_png(content, tmp_path):
    figures = [figure for figure in figures_of(content) if figure.key in ("leak", "probes")]
    written = write_figures(figures, tmp_path)
    assert sorted(path.name for path in written) == ["leak.png", "leak.svg", "probes.png", "probes.svg"]
    svg = (tmp_path / "leak.svg").read_text()
    assert svg.startswith("<svg")
    assert "NumberOfLiableIndividuals" in svg
    assert (tmp_path / "leak.png").read_bytes().startswith(b"\x89PNG")


def test_an_unknown_format_is_an_error(content, tmp_path):
    with pytest.raises(InputError, match=r"formats=\['pdf'\]: expected svg, png"):
        write_figures(figures_of(content), tmp_path, ["pdf"])
    assert not list(tmp_path.iterdir())


def test_without_a_gap_the_other_numbers_of_all_models_stay(made, tmp_path):
    """With an empty group nothing can be drawn; what the models are worth must not vanish with it."""
    audit = made.audit()
    for row in audit["model"]["rows"]:
        row |= {"statistical_parity_gap": None, "equal_opportunity_gap": None}
    figures = {figure.key: figure for figure in figures_of(read_folder(made.run(tmp_path, audit=audit)))}
    assert figures["tradeoff"].panels == ()
    assert [row[:2] for row in figures["tradeoff"].tables[0].rows][2] == ("majority answer", "0.500 (0.50 to 0.50)")


def test_the_constant_of_the_first_version_said_yes_even_where_most_are_negative(made, tmp_path):
    audit = made.audit()
    constant = next(row for row in audit["model"]["rows"] if row["name"] == "constant")
    constant |= {"accuracy": 0.217, "false_positive_rate": 1.0}
    figures = {figure.key: figure for figure in figures_of(read_folder(made.run(tmp_path, audit=audit)))}
    names = [row[0] for row in figures["tradeoff"].tables[0].rows]
    assert "always yes" in names
    assert "majority answer" not in names


def test_the_theorem_stays_without_probes_and_shows_what_was_measured(made, tmp_path):
    audit = made.audit()
    audit["probe"], audit["model"]["representations"] = [], []
    audit["model"]["theorem2"] |= {"predicted": 0.07, "measured": 0.09}
    figures = {figure.key: figure for figure in figures_of(read_folder(made.run(tmp_path, audit=audit)))}
    rows = dict(figures["probes"].tables[0].rows)
    assert [value for name, value in rows.items() if name.startswith("'measured'")] == ["0.0900"]
    assert rows["left side: the difference of the groups' means that the theorem expects"] == "0.1200"


def test_a_comparison_without_a_plain_model_still_says_what_it_cost(made, tmp_path):
    summary = made.summary()
    for row in summary["rows"]:
        row["difference"] = None
    figure = figures_of(read_folder(made.write(tmp_path, summary=summary)))[-1]
    assert figure.panels == ()
    assert figure.tables[0].columns[-2:] == ("seconds per run", "peak MB of the process")
    assert figure.tables[0].rows[0][-2:] == ("12.50", "400")
