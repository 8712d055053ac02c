"""A tuning's report in a real browser: the limit moves by keyboard, quietly and offline; without a script it reads."""

from __future__ import annotations

import pytest

from fairview.report import write_report
from fairview.report.documents import visible

DESK = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 380, "height": 800}, "has_touch": True}
THREE = ("statistical_parity", "equal_opportunity", "equalized_odds")
HOSTILE = (
    "</script><img src=x onerror=window.hacked=1>",
    "<!--",
    '" autofocus onfocus="window.hacked=1',
    "{{7*7}}",
    "__proto__",
    "datum.x",
    "'; taken = 1; '",
    "\u202eright to left",
    "x" * 400,
    "signal: limit_0",
)


@pytest.fixture(scope="module")
def report(made, tmp_path_factory):
    tuning = made.tuning(THREE, candidates=60, grouped=12)
    return write_report(made.tuned(tmp_path_factory.mktemp("tuned"), tuning))


@pytest.fixture(scope="module")
def desk(opened, report):
    return opened(report, **DESK)


def said(page) -> tuple[str, str]:
    return page.locator(".control .at").text_content(), page.locator(".control output").inner_text()


def limit_line(page, panel: str = "statistical-parity-gap") -> float:
    """Where the limit is drawn."""
    line = page.locator(f"[data-spec=spec-frontier-{panel}] .mark-rule.role-mark line").first
    return line.bounding_box()["x"]


def ring(page) -> list[float]:
    """The opacity of the rings, of which one at most can be seen."""
    return page.evaluate(
        "[...document.querySelectorAll('[data-spec=spec-frontier-statistical-parity-gap] .mark-symbol.role-mark')]"
        ".at(-1).querySelectorAll('path').values().map(p => Number(p.getAttribute('opacity') ?? 1)).toArray()"
    )


def test_every_panel_is_drawn_quietly_and_offline(desk, report):
    assert desk.errors == []
    assert desk.requests == [report.resolve().as_uri()]
    assert desk.locator("#frontier .chart.drawn").count() == 3
    assert desk.locator(".chart.failed").count() == 0


def test_the_slider_has_a_label_and_starts_at_the_limit_asked_for(desk):
    slider = desk.get_by_role("slider", name="Limit for all the gaps asked for at once")
    assert slider.count() == 1
    assert said(desk)[0] == "5.0 points"
    assert slider.get_attribute("aria-valuetext") == "5.0 points: Parity, λ 30"
    assert desk.locator("#frontier .slider details").get_attribute("open") is None


def test_the_keyboard_moves_the_words_the_line_and_the_ring(opened, report):
    page = opened(report, **DESK)
    slider = page.get_by_role("slider")
    slider.focus()
    before, line = (
        said(page),
        {panel: limit_line(page, panel) for panel in ("statistical-parity-gap", "equalized-odds-gap")},
    )
    assert sum(ring(page)) == 1
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(150)
    at, words = said(page)
    assert (at, words != before[1]) == ("8.0 points", True)
    assert words.startswith("Parity, λ 29")
    assert "less than the most useful model without a limit (72.0%)" in words
    assert all(limit_line(page, panel) > x for panel, x in line.items())
    assert sum(ring(page)) == 1
    page.keyboard.press("Home")
    page.wait_for_timeout(150)
    assert said(page)[0] == "0.5 points"
    assert said(page)[1].startswith("Refusal")
    assert sum(ring(page)) == 0
    assert slider.get_attribute("aria-valuetext") == "0.5 points: Refusal"
    page.keyboard.press("End")
    assert said(page)[0] == "30.0 points"
    assert (page.errors, len(page.requests)) == ([], 1)


def test_the_caution_stands_beside_the_slider(desk):
    caution = desk.locator(".slider .warning")
    assert caution.is_visible()
    assert "not covered by any certificate" in caution.text_content()


def test_nothing_overflows_on_a_phone(opened, report, check_width):
    page = opened(report, **PHONE)
    check_width(page)
    assert page.get_by_role("slider").bounding_box()["width"] > 200
    assert page.errors == []


def test_the_frame_and_the_hollow_marks_follow_the_dark(desk):
    look = (
        "[getComputedStyle(document.querySelector('.certificate')).borderTopColor,"
        " getComputedStyle(document.querySelector('.certificate')).backgroundColor,"
        " getComputedStyle(document.querySelector('#frontier .mark-symbol path[fill=\"#ffffff\"]')).fill]"
    )
    light = desk.evaluate(look)
    desk.emulate_media(color_scheme="dark")
    dark = desk.evaluate(look)
    desk.emulate_media(color_scheme="light")
    assert all(before != after for before, after in zip(light, dark, strict=True))
    assert dark[1] == dark[2]  # hollow: as the card behind it


def test_paper_has_the_certificate_and_the_table_in_place_of_the_slider(opened, report):
    page = opened(report, **DESK)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".control").is_hidden()
    assert page.locator(".slider table").is_visible()
    assert page.locator("#certificate").is_visible()
    edges = "[...document.querySelectorAll('table, .chart svg')].map(e => e.getBoundingClientRect().right)"
    assert max(page.evaluate(edges)) <= 691
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_a_script_the_choices_are_a_table(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.resolve().as_uri())
    assert page.locator(".control").is_hidden()
    table = page.locator(".slider table")
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 10
    assert table.locator("tbody tr").nth(4).inner_text().split("\t") == [
        "5.0 points",
        "Parity, λ 30",
        "70.2%",
        "1.8 points",
    ]
    context.close()


@pytest.mark.parametrize("refused", [False, True])
def test_hostile_names_stay_text(made, opened, tmp_path, refused):
    tuning = made.tuning(candidates=14, grouped=2, refused=refused)
    for row, name in zip(tuning["frontier"], HOSTILE * 2, strict=False):
        row |= {"label": name, "method": name, "settings": {name: name}}
    tuning["graph"] |= {"source": HOSTILE[0], "sensitive": HOSTILE[2], "groups": dict.fromkeys(HOSTILE, 10)}
    tuning |= {"conditions": list(HOSTILE), "notes": list(HOSTILE), "nodes": dict.fromkeys(HOSTILE, 10)}
    tuning["refused"] = HOSTILE[0] if refused else None
    certificate = made.certificate() | {"statement": HOSTILE[0], "conditions": list(HOSTILE), "rule": HOSTILE[2]}
    certificate |= {"model_sha256": HOSTILE[1], "versions": dict.fromkeys(HOSTILE, HOSTILE[0])}
    page = opened(write_report(made.tuned(tmp_path, tuning, certificate=certificate)), **PHONE)
    page.get_by_role("slider").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    assert page.errors == []
    assert len(page.requests) == 1
    assert page.evaluate("window.hacked") is None
    assert (
        page.evaluate(
            "document.querySelectorAll('img, iframe, form:not(.vega-bindings), input:not([type=range])').length"
        )
        == 0
    )
    assert page.locator("h1").text_content() == HOSTILE[0]
    listed = page.locator("#frontier > details tbody th").all_text_contents()
    shortened = {visible(name)[:59] for name in HOSTILE}
    assert {name for name in shortened if not any(text.startswith(name) for text in listed)} == set()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
