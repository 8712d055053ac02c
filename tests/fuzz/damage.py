"""How can a sound file be spoilt? As bytes, as JSON, as one value of a document: strategies of hypothesis."""

from __future__ import annotations

import copy
import gzip
import json
from typing import Any

from hypothesis import strategies as st

HOSTILE = (
    b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8", b"\xff", b"\xc3", b"#", b"%", b" ", b"nan", b"inf", b"1e999", b"-", b"=1+1", b"\x1b[2J",
    b"'", b"1,000", b"2020-01-01", b"PAR1", b"\x1f\x8b", b"PK\x03\x04", "\u202e".encode(), b"0x1", b"train",
    b"id,", b"\x85", b"\x1a", b"9" * 400, b"{", b"}", b"[" * 2000, b"null", b"\\ud800",
)  # fmt: skip

_KINDS = ("flip", "remove", "insert", "insert", "replace", "double", "cut", "swap", "move")
_COMMON = (b",", b"\n", b"0", b"a", b'"', b":", b"1", b"e")
_ENCODINGS = ("", "", "", "", "", "utf-16", "utf-16-le", "gzip", "cut gzip")


@st.composite
def bytes_of(draw: st.DrawFn, whole: bytes, *, encodings: bool = True) -> bytes:
    """A file with a few bytes changed, removed, doubled, moved or put in, cut short, re-encoded, or compressed."""
    data = whole
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        end = start + draw(st.integers(0, 12))
        kind = draw(st.sampled_from(_KINDS))
        if kind == "flip":
            data = data[:start] + bytes([draw(st.integers(0, 255))]) + data[start + 1 :]
        elif kind == "remove":
            data = data[:start] + data[end:]
        elif kind == "insert":
            data = data[:start] + draw(st.sampled_from(HOSTILE) | st.binary(max_size=4)) + data[start:]
        elif kind == "replace":
            data = data[:start] + draw(st.sampled_from(HOSTILE)) + data[end:]
        elif kind == "double":
            data = data[:end] + data[start:]
        elif kind == "cut":
            data = data[:start]
        elif kind == "swap":
            data = data.replace(draw(st.sampled_from(_COMMON)), draw(st.sampled_from(HOSTILE[:36])))
        elif kind == "move":
            piece, rest = data[start:end], data[:start] + data[end:]
            place = draw(st.integers(0, max(len(rest) - 1, 0)))
            data = rest[:place] + piece + rest[place:]
    after = draw(st.sampled_from(_ENCODINGS)) if encodings else ""
    if after.startswith("utf"):
        data = data.decode("latin-1").encode(after)
    elif after:
        data = gzip.compress(data, mtime=0)[: -5 if "cut" in after else None]
    return data


# --- JSON -------------------------------------------------------------------------------------------------------------

Place = tuple[Any, ...]

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 2**31, 2**63, 2**70, -(2**70), 10**400, 1e300, -1e300, 5e-324,
    "", "0", "1", "nan", "x", "é\u202e", "a\0b", "<script>alert(1)</script>", "../../etc/passwd", "os.system",
    "gcn", "german", "constant", "x" * 100_000, [], {}, [[]], [None], [0], ["x", "x"], [1] * 3000, {"": 0},
    {"foreign": True}, {"kind": "run", "version": 2}, [[0, 1, 2]],
)  # fmt: skip
"""What may stand where something else is expected; all of it can be written as strict JSON."""

_RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1E400", "0.1e-999", "9" * 5000, "-", "01", "+1", "'x'", "tru",
    '"\\ud800"', '"\\u0000"', '"\x01"', "[" * 100_000, '{"a":' * 50_000, "[" * 500 + "]" * 500,
    '{"kind": "run", "kind": "audit"}', '{"a": 1, "a": "x"}', "\ufeff0", "0,", "", "/* x */ 1",
)  # fmt: skip
"""What is no strict JSON, or means different things to different readers of it."""


def places(node: Any, path: Place = ()) -> list[Place]:
    """Every place in a tree of dictionaries and lists, the root first."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path] + [place for key, value in items for place in places(value, (*path, key))]


def at(node: Any, place: Place) -> Any:
    """What stands at a place."""
    for key in place:
        node = node[key]
    return node


def changed(document: Any, place: Place, value: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return copy.deepcopy(value)
    document = copy.deepcopy(document)
    at(document, place[:-1])[place[-1]] = copy.deepcopy(value)
    return document


@st.composite
def document_of(draw: st.DrawFn, whole: Any) -> Any:
    """A document with one to three values replaced, moved, removed, added, or repeated: still strict JSON."""
    document = whole
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
        known = places(document)
        place = draw(st.sampled_from(known))
        kind = draw(st.sampled_from(("replace", "replace", "replace", "elsewhere", "remove", "add", "longer", "text")))
        value = at(document, place)
        if kind == "replace":
            document = changed(document, place, draw(st.sampled_from(VALUES)))
        elif kind == "elsewhere":
            document = changed(document, place, at(document, draw(st.sampled_from(known))))
        elif kind == "text":
            document = changed(document, place, str(value)[:1000])
        elif kind == "longer" and isinstance(value, list):
            document = changed(document, place, (value * 50)[:3000])
        elif kind == "add" and isinstance(value, dict):
            document = changed(document, (*place, draw(st.sampled_from(("x", "version", "kind", "")))), 1)
        elif place:
            document = copy.deepcopy(document)
            del at(document, place[:-1])[place[-1]]
    return document


@st.composite
def json_of(draw: st.DrawFn, whole: Any) -> bytes:
    """A document as above; as a text that is no strict JSON; or with some of its bytes damaged."""
    kind = draw(st.sampled_from(("document", "document", "document", "raw", "twice", "bytes")))
    if kind == "document":
        return json.dumps(draw(document_of(whole))).encode()
    if kind == "bytes":
        return draw(bytes_of(json.dumps(whole).encode()))
    place = draw(st.sampled_from(places(whole)))
    raw = draw(st.sampled_from(_RAW))
    if kind == "twice" and place and isinstance(place[-1], str):  # the same key once more, with another value
        key = json.dumps(place[-1])
        raw = f"{json.dumps(at(whole, place))}, {key}: {json.dumps(draw(st.sampled_from(VALUES)))}"
    mark = "the place of the damage"
    return json.dumps(changed(whole, place, mark)).replace(json.dumps(mark), raw).encode("utf-8", "surrogatepass")


@st.composite
def lines_of(draw: st.DrawFn, whole: bytes) -> bytes:
    """A file of JSON lines with one of them spoilt, moved, repeated or removed; or with some bytes damaged."""
    lines = whole.splitlines(keepends=True)
    kind = draw(st.sampled_from(("json", "json", "repeat", "remove", "move", "bytes")))
    place = draw(st.integers(0, len(lines) - 1))
    if kind == "json":
        lines[place] = draw(json_of(json.loads(lines[place]))) + b"\n"
    elif kind == "repeat":
        lines.insert(draw(st.integers(0, len(lines))), lines[place])
    elif kind == "remove":
        del lines[place]
    elif kind == "move":
        lines.insert(draw(st.integers(0, len(lines) - 1)), lines.pop(place))
    else:
        return draw(bytes_of(whole))
    return b"".join(lines)
