from __future__ import annotations

import pytest

import fairview as fv
from fairview.metrics.registry import METRICS


@pytest.fixture(scope="module")
def comparison(graph, tmp_path_factory) -> fv.Comparison:
    graph = graph.replace(provenance=fv.Provenance(source="<i>village</i>"))
    changes = {"vanilla": {"epochs": 2, "hidden": 3}, "fairvgnn": {"epochs": 2, "hidden": 3, "views": 2}}
    return fv.compare(
        graph, methods=["fairvgnn"], seeds=2, workers=1, changes=changes, folder=tmp_path_factory.mktemp("study")
    )


def test_a_comparison_is_a_frame_with_a_row_per_method_encoder_and_metric(comparison):
    frame = comparison.to_frame()
    assert frame.columns == [
        "method", "encoder", "metric", "runs", "mean", "std", "low", "high",
        "difference", "difference_low", "difference_high", "undefined",
    ]  # fmt: skip
    assert frame.height == 3 * len(METRICS)
    for row in comparison.summary["rows"]:
        found = frame.filter(method=row["method"], metric="accuracy").row(0, named=True)
        assert found["encoder"] == row["encoder"]
        assert [found[name] for name in ("mean", "std", "low", "high")] == [
            row[name]["accuracy"] for name in ("mean", "std", "low", "high")
        ]
    fair = frame.filter(method="fairvgnn", metric="auc").row(0, named=True)
    assert fair["difference"] == comparison.summary["rows"][-1]["difference"]["auc"]["mean"]
    assert frame.filter(method="constant")["difference"].is_null().all()


def test_the_html_has_means_differences_and_notes(comparison):
    html = comparison._repr_html_()
    for text in (
        "Comparison on &lt;i&gt;village&lt;/i&gt;: 2 seeds", ">FairVGNN · GCN</th>", ">SP gap</th>", " ± ",
        "Difference to the plain model", "a single run has no interval",
    ):  # fmt: skip
        assert text in html, text
    assert "<i>" not in html


def test_a_comparison_follows_itself_unless_somebody_else_does(graph, tmp_path, monkeypatch):
    from fairview import progress

    updates: list[tuple[int, int]] = []
    monkeypatch.setattr(progress._Bar, "update", lambda self, done, total, text="": updates.append((done, total)))
    fv.compare(graph, methods=["constant"], plain=False, seeds=1, splits=2, workers=1, folder=tmp_path / "a")
    assert updates == [(0, 2), (1, 2), (2, 2)]
    seen: list[int] = []
    updates.clear()
    fv.compare(
        graph, methods=["constant"], plain=False, seeds=1, splits=2, workers=1, folder=tmp_path / "b",
        notice=lambda result, done, total: seen.append(done),
    )  # fmt: skip
    assert (updates, seen) == ([], [0, 1, 2])


def test_on_a_terminal_it_is_a_table_of_the_means(comparison):
    head, columns, majority, plain, fair, foot = repr(comparison).splitlines()
    assert head == "Comparison on <i>village</i>, seeds: 2, the graph's own split"
    assert columns.split()[:3] == ["AUC", "F1", "ACC"]
    assert majority.startswith("Majority answer")
    assert plain.startswith("Plain model · GCN")
    mean = comparison.summary["rows"][2]["mean"]["auc"]
    assert fair.split()[3] == f"{100 * mean:.1f}"
    assert foot == f"Percent on the test nodes, mean over the runs. Files: {comparison.folder}"
