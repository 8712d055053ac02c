"""Errors say everything at once, and are what a caller would catch."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairview as fv
from fairview.cli.output import printable
from fairview.data.tables.csv_text import decode
from fairview.errors import (
    LONGEST_MESSAGE,
    DataNotFoundError,
    FairviewError,
    InputError,
    Message,
    ModelFileError,
    Problems,
    command,
    did_you_mean,
    embed,
    for_command_line,
    option,
    placeholder,
    some,
)
from fairview.training.loop import TrainingError


def test_every_error_is_a_fairview_error_and_its_natural_builtin() -> None:
    assert issubclass(InputError, FairviewError)
    assert issubclass(InputError, ValueError)
    assert issubclass(DataNotFoundError, FairviewError)
    assert issubclass(DataNotFoundError, LookupError)
    assert str(DataNotFoundError("put 'x' there")) == "put 'x' there"


def test_one_problem_is_its_own_message_and_several_are_a_list() -> None:
    assert str(InputError("a")) == str(InputError(["a"])) == "a"
    assert InputError("a").problems == ("a",)
    two = InputError(problem for problem in ("a", "b"))
    assert str(two) == "2 problems:\n  - a\n  - b"
    assert two.problems == ("a", "b")


def test_problems_are_collected_in_order_without_repetition() -> None:
    problems = Problems()
    assert not problems
    problems.raise_if_any()
    problems.add("b")
    problems.absorb(InputError(["a", "b"]))
    assert problems
    with pytest.raises(InputError) as raised:
        problems.raise_if_any()
    assert raised.value.problems == ("b", "a")


@pytest.mark.parametrize(
    ("name", "known", "sentence"),
    [
        ("germen", ["german", "bail"], " Did you mean 'german'?"),
        ("GERMAN", ["german", "bail"], " Did you mean 'german'?"),
        ("zzz", ["german", "bail"], " Known: german, bail."),
        ("zzz", [], ""),
        (
            "zzz",
            [f"channel {k}" for k in range(14)],
            " Known: " + ", ".join(f"channel {k}" for k in range(12)) + " and 2 more.",
        ),
    ],
)
def test_a_mistyped_name_gets_the_nearest_or_the_list(name: str, known: list[str], sentence: str) -> None:
    assert did_you_mean(name, known) == sentence


def test_long_lists_are_cut_with_the_number_of_the_rest() -> None:
    assert some([]) == ""
    assert some(range(5)) == "0, 1, 2, 3, 4"
    assert some(range(6)) == "0, 1, 2, 3, 4 and 1 more"
    assert some(range(5000)) == "0, 1, 2, 3, 4 and 4,995 more"
    assert some((name for name in "ab"), limit=1) == "a and 1 more"


# --- Python's words and flags -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "python", "flags"),
    [
        (option("missing", "mean"), "missing='mean'", "--missing mean"),
        (option("directed", True), "directed=True", "--directed"),
        (option("drop_unknown", True), "drop_unknown=True", "--drop-unknown"),
        (option("categorical", ["job"]), "categorical=['job']", "--categorical job"),
        (option("drop", ["a b", "c"]), "drop=['a b', 'c']", "--drop 'a b' --drop c"),
        (option("splits", 2), "splits=2", "--splits 2"),
        (option("split"), "split", "--split"),
        (option("folder"), "folder", "--out"),
        (option("features", ["x"]), "features=['x']", "--feature x"),
        (option("missing_values", ["?"]), "missing_values=['?']", "--missing-value '?'"),
        (option("separator", "\t"), r"separator='\t'", r"--separator '\t'"),
        (option("separator", ";"), "separator=';'", "--separator ';'"),
        (placeholder(python="read_graph", command_line="--nodes"), "read_graph", "--nodes"),
        (command("datasets bail", fetch=True), "`fairview datasets bail --fetch`", "`fairview datasets bail --fetch`"),
    ],
    ids=map(str, range(14)),  # the placeholders differ from process to process
)
def test_an_option_reads_as_python_or_as_a_flag(text: str, python: str, flags: str) -> None:
    message = Message(f"Pass {text}, or {text}.")
    assert message == f"Pass {python}, or {python}."
    assert message.flags == for_command_line(message) == f"Pass {flags}, or {flags}."


@pytest.mark.parametrize("kind", [FairviewError, InputError, DataNotFoundError, ModelFileError, TrainingError])
def test_every_error_has_both_wordings_also_after_pickling_and_copying(kind: type[FairviewError]) -> None:
    error = kind(f"x: wrong. Pass {option('missing', 'mean')}.")
    for same in (error, pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(same) is kind
        assert str(same) == "x: wrong. Pass missing='mean'."
        assert for_command_line(same) == "x: wrong. Pass --missing mean."


def test_collected_absorbed_and_embedded_problems_keep_both_wordings() -> None:
    inner, outer = Problems(), Problems()
    inner.add(f"age: empty. Pass {option('missing', 'mean')}.")
    inner.add(f"age: empty. Pass {option('missing', 'mean')}.")
    with pytest.raises(InputError) as raised:
        inner.raise_if_any()
    outer.absorb(raised.value)
    outer.add(f"nodes.csv: {embed(raised.value.message)}")
    with pytest.raises(InputError) as raised:
        outer.raise_if_any()
    error = pickle.loads(pickle.dumps(raised.value))
    assert error.problems == ("age: empty. Pass missing='mean'.", "nodes.csv: age: empty. Pass missing='mean'.")
    assert str(error).count("missing='mean'") == 2
    assert for_command_line(error) == (
        "2 problems:\n  - age: empty. Pass --missing mean.\n  - nodes.csv: age: empty. Pass --missing mean."
    )
    assert [for_command_line(problem) for problem in error.problems][1] == "nodes.csv: age: empty. Pass --missing mean."


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_an_error_of_a_worker_process_keeps_both_wordings(method: str) -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context(method)) as pool,
        pytest.raises(InputError, match="or pass encoding='utf-16'") as raised,
    ):
        pool.submit(decode, b"\xff\xfe", "n.csv").result()
    assert for_command_line(raised.value) == (
        "n.csv: is UTF-16, not UTF-8. Save it as UTF-8, or pass --encoding utf-16."
    )


OF_ANOTHER_PROCESS = re.sub("[0-9a-f]{16}", "0123456789abcdef", option("missing", "mean"))


@given(st.text() | st.sampled_from([OF_ANOTHER_PROCESS, "<|>", "\\1", "\\g<0>", "--out", "{0}", "%s"]))
def test_data_in_a_message_is_never_taken_for_an_option(data: str) -> None:
    message = Message(f"column '{data}': leave it out ({option('drop', [data])}).")
    assert message == f"column '{data}': leave it out (drop={[data]!r})."
    assert message.flags.startswith(f"column '{data}': leave it out (--drop ")
    quoted = message.flags.removeprefix(f"column '{data}': leave it out (--drop ").removesuffix(").")
    assert shlex.split(quoted) == [data.replace("\t", "\\t")]
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", printable(message))


def test_a_message_without_end_is_shown_without_its_middle() -> None:
    name = "x" * 1_000_000
    error = InputError([f"column '{name}': is empty. Pass {option('drop', [name])}.", "edges.csv: is empty."])
    for text in (str(error), for_command_line(error), *error.problems):
        assert len(text) <= LONGEST_MESSAGE
    assert str(error).startswith("2 problems:\n  - column 'xxx")
    assert str(error).endswith("xxx'].\n  - edges.csv: is empty.")
    assert for_command_line(error).endswith("xxx.\n  - edges.csv: is empty.")
    assert re.search(r"x \[\.\.\. [\d,]+ characters \.\.\.\] x", str(error))


def test_a_message_of_the_greatest_length_is_shown_whole() -> None:
    text = "x" * LONGEST_MESSAGE
    assert Message(text) == text
    assert Message(text + "x") != text + "x"


def test_notes_of_a_graph_are_python_and_flags_on_the_command_line() -> None:
    note = fv.Provenance(source="x", notes=(f"made symmetric; {option('directed', True)} keeps them",)).notes[0]
    assert note == "made symmetric; directed=True keeps them"
    assert printable(note) == "made symmetric; --directed keeps them"


def _literals(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_only_the_command_line_and_the_table_of_flags_name_flags() -> None:
    package = Path(fv.__file__).parent
    files = [path for path in package.rglob("*.py") if path.parent.name != "cli" and path != package / "errors.py"]
    assert len(files) > 100
    named = [
        f"{path.relative_to(package)}:{line}"
        for path in files
        for line, text in _literals(path)
        if re.search(r"(^|[\s`('\"])--[a-z]", text)
    ]
    assert named == []
