"""The report in a real browser: drawn, quiet, offline, on a phone, in the dark, on paper, and deaf to hostile names."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from fairview.report import write_report
from fairview.report.documents import visible

LEAK_BLUE = "rgb(0, 114, 178)"
PHONE = {"viewport": {"width": 380, "height": 800}, "has_touch": True}
PAYLOADS = (
    "</script><img src=x onerror=window.hacked=1>",
    "<script>window.hacked=1</script>",
    "<svg/onload=window.hacked=1>",
    "<!--",
    "]]>",
    "--></style></title></textarea>",
    '" onmouseover="window.hacked=1" x="',
    "' autofocus onfocus='window.hacked=1",
    "javascript:window.hacked=1",
    "{{7*7}}",
    "{% for x in y %}",
    "${window.hacked=1}",
    "`${window.hacked=1}`",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "valueOf",
    "datum.x",
    "datum['x']",
    "x.y",
    "[0]",
    "a[0].b",
    "a\\b\\'c",
    "\\u003cimg src=x\\u003e",
    "&lt;b&gt;&amp;",
    "=1+1",
    "a\nb\tc",
    "NUL\x00here",
    "\u202eright to left",
    "\u2066isolated\u2069",
    "شكرا",
    "日本語の列",
    "emoji 👩‍👩‍👧",
    "x" * 400,
    "<" * 200,
    "null",
    "NaN",
    "undefined",
    "",
    " ",
    "signal: width",
    '{"signal": "window.hacked=1"}',
    "'; DROP TABLE nodes; --",
    "%00%3Cimg%3E",
    "2024-01-01",
)


@pytest.fixture(scope="module")
def report(made, tmp_path_factory):
    return write_report(made.run(tmp_path_factory.mktemp("run")))


@pytest.fixture(scope="module")
def desk(opened, report):
    return opened(report, viewport={"width": 1280, "height": 900})


def test_every_chart_is_drawn_quietly_and_offline(desk, report):
    assert desk.errors == []
    assert desk.requests == [report.resolve().as_uri()]
    drawn = desk.evaluate(
        "[...document.querySelectorAll('.chart')].map(c => [c.dataset.spec,"
        " c.querySelectorAll('svg path, svg line').length, c.getBoundingClientRect().height])"
    )
    assert len(drawn) == 14
    assert all(marks > 5 and height > 100 for _, marks, height in drawn)
    shown_channels = desk.evaluate(
        "[...document.querySelectorAll('[data-spec=spec-leak] .role-axis-label text')].map(t => t.textContent)"
    )
    assert "NumberOfLiableIndividuals" in shown_channels


def test_a_tooltip_opens_on_hover_and_closes(desk):
    mark = desk.locator("[data-spec=spec-leak] .mark-symbol.role-mark path").nth(4)
    mark.scroll_into_view_if_needed()
    mark.hover()
    desk.wait_for_selector("#tip:not([hidden])")
    assert re.search(r"channel\w+where", desk.locator("#tip").text_content())
    desk.keyboard.press("Escape")
    assert desk.locator("#tip").is_hidden()


def test_the_keyboard_reaches_the_verdict_and_the_tables(desk):
    desk.evaluate("window.scrollTo(0, 0); document.activeElement.blur()")
    desk.keyboard.press("Tab")
    assert desk.evaluate("document.activeElement.className") == "skip"
    desk.keyboard.press("Enter")
    assert desk.evaluate("location.hash") == "#verdict"
    summary = desk.locator("#leak summary").first
    summary.focus()
    desk.keyboard.press("Enter")
    assert desk.locator("#leak details").first.get_attribute("open") is not None
    assert desk.locator("#leak table").first.is_visible()


def test_nothing_overflows_on_a_phone(opened, report, check_width):
    page = opened(report, **PHONE)
    check_width(page)
    assert page.errors == []


def colours(page) -> list[str]:
    return page.evaluate(
        "['body', '.chart .role-title-text text',"
        " '[data-spec=spec-leak] .mark-rule.role-mark line:last-child'].map(s => {"
        " const c = getComputedStyle(document.querySelector(s));"
        " return [c.backgroundColor, c.color, c.fill, c.stroke] })"
    )


def test_dark_mode_changes_page_and_charts_and_paper_stays_light(desk, opened, report):
    light = colours(desk)
    desk.emulate_media(color_scheme="dark")
    dark = colours(desk)
    desk.emulate_media(color_scheme="dark", media="print")
    paper = colours(desk)
    desk.emulate_media(color_scheme="light", media="screen")
    assert all(before != after for before, after in zip(light, dark, strict=True))
    assert paper[0][0] == "rgb(255, 255, 255)"
    assert paper[2][3] == LEAK_BLUE == light[2][3]
    assert paper[1][2] == "rgb(0, 0, 0)"


def test_paper_shows_every_table_and_no_cut_chart(opened, report):
    page = opened(report, viewport={"width": 1280, "height": 900})
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    assert page.evaluate("[...document.querySelectorAll('table')].every(t => t.getBoundingClientRect().height > 20)")
    right = "[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right)"
    assert max(page.evaluate(right)) <= 691
    assert page.locator("nav").is_hidden()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("[...document.querySelectorAll('details')].every(d => d.open)")
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_javascript_the_numbers_are_there(opened, browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.resolve().as_uri())
    assert page.locator("noscript p").is_visible()
    assert page.locator("#leak table").nth(0).locator("tbody tr").count() == 15
    assert page.locator("#leak table").nth(1).locator("tbody tr").count() == 27
    context.close()


def hostile_names(count: int) -> list[str]:
    """Payloads first, then all their pairs."""
    pairs = (first + second for first, second in itertools.product(PAYLOADS, repeat=2))
    return list(dict.fromkeys([*PAYLOADS, *pairs]))[:count]


@pytest.mark.parametrize("part", [0, 1])
def test_five_hundred_hostile_names_stay_text(made, opened, tmp_path, part):
    names = [name for name in hostile_names(500)[part::2] if visible(name)]
    groups = [name for name in PAYLOADS[part::2] if visible(name)][:12]
    audit = made.audit(names=names, groups=groups)
    audit["graph"]["source"] = names[0]
    audit["rule"] = names[1]
    audit["notes"] = names[2:9]
    audit["undefined"] = {names[10]: names[11]}
    audit["label_leaks"] = [{"name": names[12], "auc": 0.99}]
    audit["model"]["rows"] += [audit["model"]["rows"][1] | {"name": name} for name in names[:8]]
    audit["probe"] += [{"on": name, "probe": name, "auc": 0.7, "low": 0.6, "high": 0.8} for name in names[:6]]
    metrics = made.metrics(groups=[made.group(name, 60, 30, (0.5, 0.5, 0.5)) for name in groups])
    record = made.record() | {"method": names[3], "parameters": {name: name for name in names[:40]}}
    loss = dict.fromkeys(names[:6], 1.0)
    history = "".join(json.dumps({"epoch": epoch, "loss": loss, "val": {}}) + "\n" for epoch in (1, 2, 3))
    summary = made.summary(labels=["Plain · GCN", *names[:8]])
    page = opened(
        write_report(made.run(tmp_path, audit=audit, metrics=metrics, run=record, history=history, summary=summary))
    )
    assert page.errors == []
    assert len(page.requests) == 1
    assert page.evaluate("window.hacked") is None
    foreign = "img, iframe, object, embed, link, base, input, form:not(.vega-bindings)"
    assert page.evaluate(f"document.querySelectorAll('{foreign}').length") == 0
    assert page.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    assert page.evaluate("document.querySelectorAll('.chart.failed').length") == 0
    assert page.evaluate("document.querySelector('h1').textContent") == "german"  # of the comparison, first of all
    assert page.evaluate("document.querySelector('.verdict').textContent").count(visible(names[3])) > 0  # the method
    listed = page.evaluate("[...document.querySelectorAll('#leak tbody th')].map(c => c.textContent)")
    assert {visible(name) for name in names[:300]} <= set(listed)
    lines = page.evaluate(
        "document.querySelectorAll('[data-spec=spec-groups-ranking] .mark-line.role-mark path').length"
    )
    assert lines == len(groups) + 1  # and the diagonal: no group is lost, whatever its name
    for mark in page.locator("[data-spec=spec-leak] .mark-symbol.role-mark path").all()[2:40:7]:
        mark.dispatch_event("mousemove")
    assert page.evaluate("window.hacked") is None
    assert page.errors == []
