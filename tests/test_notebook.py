"""HTML for notebooks: escaped, short, accessible, without colours of its own."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from fairview import notebook

HOSTILE = (
    "</td></table><script>window.hacked=1</script>",
    '" onmouseover="window.hacked=1" x="',
    "' autofocus onfocus='window.hacked=1",
    "<!--",
    "&lt;b&gt;",
    "<svg/onload=window.hacked=1>",
)


class Outline(HTMLParser):
    """Tags, attributes and text; an unbalanced tag fails at once."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def page(name: str) -> str:
    return notebook.block(
        name,
        notebook.paragraph(name),
        notebook.facts({name: name}),
        notebook.table([name, name], [[name, 1], [name, 2]], caption=name, most=1),
        notebook.notes([name] * 9),
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_cannot_become_markup(name):
    outline = Outline(page(name))
    assert set(outline.tags) <= set("div p strong dl dt dd table caption thead tbody tr th td ul li".split())  # noqa: SIM905
    assert outline.attributes <= {"class", "style", "scope", "colspan"}
    assert outline.texts.count(name) == 1 + 1 + 2 + 1 + 2 + 1 + notebook.MOST_ITEMS  # each place, read back as it was


def test_rows_and_columns_are_named_for_screen_readers():
    html = notebook.table(["group", "nodes"], [["f", 310], ["m", 690]], caption="Groups")
    assert html.count('<th scope="col"') == 2
    assert html.count('<th scope="row"') == 2
    assert ">Groups</caption>" in html


def test_there_are_no_colours_of_our_own():
    html = page("age")
    assert "background" not in html
    assert "color:" not in html


def test_long_lists_and_texts_are_cut():
    html = notebook.table(["channel", "value"], [[f"c{i}", 0.5] for i in range(1200)], caption="Channels")
    assert html.count("<tr>") == 1 + notebook.MOST_ROWS + 1
    assert "and 1,185 more" in html
    assert notebook.notes(["a"] * 6).endswith("<li>and 1 more</li></ul>")
    assert notebook.text("x" * 1000) == "x" * (notebook.LONGEST_TEXT - 1) + "…"
    assert len(notebook.paragraph("x" * 10_000)) < 1000


def test_numbers_are_on_the_right_and_names_on_the_left():
    html = notebook.table(
        ["id", "value", "change", "word"], [["007", 0.25, "-0.1", "7th"], ["8", None, "+1", "b"]], caption=""
    )
    rows = html[html.index("<tbody>") :].split("<tr>")[1:]
    assert re.findall(r"text-align: (\w+)", rows[0]) == ["left", "right", "right", "left"]
    assert ">0.250</td>" in rows[0]
    assert ">–</td>" in rows[1]


def test_nothing_makes_nothing():
    assert notebook.table(["a"], [], caption="") == notebook.notes([]) == notebook.paragraph("") == ""
