"""Does the code on the pages work? Every block of README, tutorials and some guides is run, in an empty folder.

```python               run as it is; a page's blocks share their names
```python title="F"     written to the file F
```console              each `$ fairview ...` is run and must print what stands below it (`...` is anything);
                        `error:` below it must end with exit code 1, `refused:` with 3, anything else with 0
```csv title="F"        written to the file F
```text                 must be what the ```python block before it printed
```sh, ```toml, ```json only read
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairview.cli.main import main

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(path for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.name != "index.md")
GUIDES = [
    ROOT / "docs" / f"{name}.md"
    for name in (
        "get-started/first-model",
        "explain",
        "limits",
        "link-kinds",
        "misses",
        "predict-and-evaluate",
        "self-supervision",
        "several-attributes",
        "sign",
    )
]
PAGES = [ROOT / "README.md", *GUIDES, *TUTORIALS]
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_CODES = {"error:": 1, "refused:": 3}
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text: str) -> Iterator[tuple[str, str | None, str, int]]:
    """Language, title, content and line of each block."""
    for match in FENCE.finditer(text):
        language, title, content = match.groups()
        yield language, title, content, text.count("\n", 0, match.start()) + 1


def commands(content: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with the output that stands below it."""
    for part in re.split(r"^\$ ", content.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_fairview(command: str) -> tuple[int, str]:
    """The exit code, and what was printed: the result, or the message of an error."""
    arguments = shlex.split(command)
    assert arguments.pop(0) == "fairview", command
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
        main(arguments)
    code = caught.value.code or 0
    return code, err.getvalue() if code else out.getvalue()


def assert_alike(expected: str, printed: str, where: str) -> None:
    """What the page shows is part of what was printed; `...` stands for anything."""
    alike = doctest.OutputChecker().check_output(f"...{expected.strip()}...", printed, LOOSE)
    assert alike or not expected.strip(), f"{where}\nexpected:\n{expected}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, fresh_folder):
    names: dict[str, object] = {"__name__": "page"}
    text = page.read_text(encoding="utf-8")
    assert page.name == "README.md" or list(blocks(text)), "a page without code"
    shown = ""
    for language, title, content, line in blocks(text):
        where = f"{page.name}, line {line}"
        if title is not None:
            Path(title).write_text(content, encoding="utf-8")
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * line + content, str(page), "exec"), names)
            shown = out.getvalue()
        elif language == "console":
            for command, output in commands(content):
                code, printed = run_fairview(command)
                expected = next((c for word, c in EXIT_CODES.items() if output.startswith(word)), 0)
                assert code == expected, f"{where}: {command}\n{printed}"
                assert_alike(output, printed, f"{where}: {command}")
        elif language == "text":
            assert_alike(content, shown, where)
        else:
            assert language in ("sh", "toml", "json"), f"{where}: no rule for a block of {language}"
