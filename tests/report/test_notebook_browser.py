"""The notebook's HTML in a real browser: readable on light and dark pages, and deaf to hostile names."""

from __future__ import annotations

import pytest

import fairview as fv

NAME = "</td><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def results(graph, tmp_path_factory) -> list[object]:
    provenance = fv.Provenance(source=NAME, notes=(NAME, "x" * 2000))
    channels = (NAME, "y" * 500, *graph.channels[2:])
    hostile = graph.replace(
        channels=channels, groups=(NAME, "m"), sensitive_name=NAME, classes=(NAME, "yes"), provenance=provenance
    )
    model = fv.FairVGNN(epochs=1, views=2, hidden=3).fit(hostile)
    changes = {"vanilla": {"epochs": 1}}
    folder = tmp_path_factory.mktemp("comparison")
    return [
        hostile,
        fv.audit(hostile, permutations=19),
        fv.evaluate(model, hostile, split="test", intervals=True),
        fv.audit_model(model, hostile, others={NAME: fv.Constant().fit(hostile)}),
        fv.compare(hostile, methods=["logistic-regression"], seeds=2, workers=1, changes=changes, folder=folder),
    ]


@pytest.mark.parametrize(("background", "colour"), [("#ffffff", "rgb(17, 17, 17)"), ("#111111", "rgb(221, 221, 221)")])
def test_results_are_readable_on_light_and_dark_pages(results, opened, tmp_path, background, colour):
    body = "<hr>".join(result._repr_html_() for result in results)
    path = tmp_path / "page.html"
    style = f"background: {background}; color: {colour}; font: 13px sans-serif"
    path.write_text(f'<!doctype html><html data-ready><meta charset="utf-8"><body style="{style}">{body}')
    page = opened(path, viewport={"width": 900, "height": 900})
    assert page.errors == []
    assert page.requests == [path.as_uri()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("script, img").count() == 0
    assert page.locator("table").count() >= 9
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    texts = page.locator("td, th, dt, dd, li, p, caption")
    assert set(texts.evaluate_all("all => all.map(each => getComputedStyle(each).color)")) == {colour}
