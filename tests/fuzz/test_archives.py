"""gzip and zip: what an archive says of itself is not believed."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tests.fuzz.damage import bytes_of
from tests.fuzz.trial import CASES, try_many, unchanged

from fairview.data.tables.archives import read_bytes, read_zip_member, zip_members

LIMIT = 100_000
TABLE = b"id,age\n" + b"7,31\n" * 40

names = st.sampled_from(
    ["a.csv", "b/a.csv", "../a", "/etc/x", "C:\\x", "a\0b", "", "é", "a.csv", ".DS_Store", "x" * 300]
)


@st.composite
def gzips(draw: st.DrawFn) -> bytes:
    """One member or several, with odd headers, flags, lengths and tails."""
    members = []
    for _ in range(draw(st.integers(1, 3))):
        content = draw(st.sampled_from([b"", TABLE, bytes(50_000), bytes(5_000_000)]))
        member = bytearray(gzip.compress(content, draw(st.sampled_from([1, 9])), mtime=0))
        kind = draw(st.sampled_from(["", "", "flags", "method", "length", "check", "name"]))
        if kind == "flags":
            member[3] = draw(st.integers(0, 255))
        elif kind == "method":
            member[2] = draw(st.integers(0, 255))
        elif kind == "length":
            member[-4:] = struct.pack("<I", draw(st.integers(0, 2**32 - 1)))
        elif kind == "check":
            member[-8:-4] = draw(st.binary(min_size=4, max_size=4))
        elif kind == "name":
            member[3], member[10:10] = 8, b"x" * draw(st.sampled_from([0, 10, 70_000]))
        members.append(bytes(member))
    whole = b"".join(members) + draw(st.sampled_from([b"", b"", bytes(10), b"junk", b"\x1f\x8b"]))
    return draw(bytes_of(whole, encodings=False)) if draw(st.booleans()) else whole


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """Honest archives, and those whose names, sizes, kinds or places are not."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in draw(st.lists(names, min_size=1, max_size=3, unique=draw(st.booleans()))):
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.external_attr = draw(st.sampled_from([0, 0, 0o100644 << 16, 0o120777 << 16, 0o020666 << 16, 16]))
            info.compress_type = draw(st.sampled_from([0, 8, 8, 12]))
            archive.writestr(info, draw(st.sampled_from([b"", TABLE, bytes(50_000), bytes(500_000)])))
    whole = bytearray(buffer.getvalue())
    for _ in range(draw(st.integers(0, 2))):  # a field of a header of a member, of the directory or of its end
        mark = draw(st.sampled_from([b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"]))
        start = whole.find(mark)
        if start >= 0:
            place = start + draw(st.integers(4, 45))
            whole[place : place + 2] = draw(st.sampled_from([b"\0\0", b"\xff\xff", b"\x01\0", b"\0\x80"]))
    return draw(bytes_of(bytes(whole), encodings=False)) if draw(st.integers(0, 2)) == 0 else bytes(whole)


def expand(folder: Path, content: bytes) -> None:
    (folder / "a.csv.gz").write_bytes(content)
    with unchanged(folder):
        assert len(read_bytes(folder / "a.csv.gz", limit=LIMIT)) <= LIMIT


def unpack(folder: Path, content: bytes) -> None:
    (folder / "a.zip").write_bytes(content)
    with unchanged(folder.parent):
        found: Any = zip_members(folder / "a.zip")
        assert not any(name.startswith("/") or ".." in name.split("/") for name in found)
        for name in found:
            assert len(read_zip_member(folder / "a.zip", name, limit=LIMIT)) <= LIMIT


@pytest.mark.filterwarnings("ignore:Duplicate name")  # of the writer of these archives
@pytest.mark.parametrize("cases", CASES)
def test_damaged_gzip_data_gives_bytes_or_an_error(cases, tmp_path):
    try_many(cases, gzips(), lambda content: expand(tmp_path, content))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("cases", CASES)
def test_damaged_zip_archives_give_their_members_or_an_error(cases, tmp_path):
    try_many(cases, zips(), lambda content: unpack(tmp_path, content))
