from __future__ import annotations

import gzip
import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairview.data.tables.archives import gunzip, read_bytes, read_zip_member, zip_members
from fairview.errors import InputError

NODES = b"id,age\n7,31\n8,44\n" * 50
PACKED = gzip.compress(NODES, mtime=0)  # the same bytes in every process


def zipped(path: Path, members: dict[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def renamed(path: Path, old: bytes, new: bytes) -> Path:
    """Change a member's name behind zipfile's back: it would clean it up on writing."""
    assert len(old) == len(new)
    path.write_bytes(path.read_bytes().replace(old, new))
    return path


def content_or_message(read: Callable[[], bytes]) -> bytes | str:
    """What was read, or the file that the refusal names."""
    try:
        return read()
    except InputError as error:
        return str(error).split(":")[0]


# --- zip: honest archives ---------------------------------------------------------------------------------------------


def test_members_are_listed_without_folders_and_finder_junk(tmp_path):
    path = zipped(
        tmp_path / "a.zip",
        {"a/": b"", "__MACOSX/a/._nodes.csv": b"x", "a/.DS_Store": b"x", "a/._nodes.csv": b"x", "a/nodes.csv": NODES},
    )
    assert zip_members(path) == ("a/nodes.csv",)
    assert read_zip_member(path, "a/nodes.csv", limit=len(NODES)) == NODES


def test_nothing_is_written_to_disk(tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", {"a/nodes.csv": NODES})
    monkeypatch.chdir(tmp_path)
    read_zip_member(path, "a/nodes.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]


def test_an_unknown_member_gets_a_suggestion(tmp_path):
    path = zipped(tmp_path / "a.zip", {"nodes.csv": NODES})
    with pytest.raises(InputError, match=r"^a\.zip: no member 'node\.csv'\. Did you mean 'nodes\.csv'\?$"):
        read_zip_member(path, "node.csv")


# --- zip: hostile ones ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../nodes.csv", "leaves its folder with '..'"),
        ("a/../../b.csv", "leaves its folder with '..'"),
        ("/etc/passwd", "has an absolute path"),
        ("C:/nodes.csv", "has a drive letter in its name"),
        ("a\\..\\b.csv", "has a backslash in its name"),
        ("\\\\host\\x", "has a backslash in its name"),
        ("a\x00b.csv", "has an empty name or control characters in it"),
        ("a\nb.csv", "has an empty name or control characters in it"),
    ],
)
def test_a_dishonest_name_refuses_the_whole_archive(tmp_path, name, reason):
    harmless = "x" * len(name)
    path = zipped(tmp_path / "evil.zip", {"fine.csv": NODES, harmless: b"payload"})
    renamed(path, harmless.encode(), name.encode())
    for attempt in (lambda: zip_members(path), lambda: read_zip_member(path, "fine.csv")):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value) == f"evil.zip: refused: member {name!r} {reason}."


def test_even_junk_must_have_an_honest_name(tmp_path):
    path = zipped(tmp_path / "evil.zip", {"fine.csv": NODES, "__MACOSX/xx/._a": b""})
    with pytest.raises(InputError, match="leaves its folder"):
        zip_members(renamed(path, b"__MACOSX/xx/._a", b"__MACOSX/../._a"))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path, kind):
    info = zipfile.ZipInfo("nodes.csv")
    info.create_system = 3
    info.external_attr = (kind | 0o777) << 16
    path = zipped(tmp_path / "evil.zip", {info: b"/etc/passwd"})
    with pytest.raises(
        InputError, match=r"^evil\.zip: refused: member 'nodes\.csv' is a link or a device, not a file\.$"
    ):
        zip_members(path)


def test_a_bomb_is_refused_before_it_is_expanded(tmp_path):
    path = zipped(tmp_path / "bomb.zip", {"nodes.csv": bytes(20_000_000)})
    with pytest.raises(InputError, match=r"declares 20,000,000 bytes out of [\d,]+, more than 200 times as many\.$"):
        read_zip_member(path, "nodes.csv", limit=10**9)


def test_a_declared_size_beyond_the_limit_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"nodes.csv": NODES})
    with pytest.raises(InputError) as caught:
        read_zip_member(path, "nodes.csv", limit=len(NODES) - 1)
    assert str(caught.value) == (
        "a.zip: member 'nodes.csv': expands to more than the 849 bytes allowed. "
        "If you trust it, expand it yourself and raise the limit."
    )


def declaring(path: Path, size: int) -> Path:
    """Change the size that an archive's first member declares, in its local header and in the central directory."""
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", content, content.index(signature) + offset, size)
    path.write_bytes(content)
    return path


def test_a_declared_size_is_believed_before_anything_is_expanded(tmp_path):
    path = declaring(zipped(tmp_path / "liar.zip", {"nodes.csv": NODES}), 10**6)
    with pytest.raises(InputError, match=r"^liar\.zip: member 'nodes\.csv': expands to more than the 100,000 bytes"):
        read_zip_member(path, "nodes.csv", limit=10**5)


@pytest.mark.parametrize("declared", [10, 10**6])
def test_a_member_that_lies_about_its_size_is_refused(tmp_path, declared):
    path = declaring(zipped(tmp_path / "liar.zip", {"nodes.csv": bytes(range(256)) * 40}), declared)
    with pytest.raises(InputError, match=r"^liar\.zip: "):
        read_zip_member(path, "nodes.csv", limit=10**7)


def test_encrypted_members_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"nodes.csv": NODES})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"member 'nodes\.csv' is encrypted; zip it again without a password\.$"):
        zip_members(path)


def test_unusual_compression_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"nodes.csv": NODES}, zipfile.ZIP_BZIP2)
    with pytest.raises(
        InputError, match=r"is compressed in an unusual way; zip it again with the usual one \(deflate\)"
    ):
        zip_members(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("nodes.csv", b"1")
        archive.writestr("nodes.csv", b"2")
    with pytest.raises(InputError, match=r"^a\.zip: refused: the names 'nodes\.csv' occur twice\.$"):
        zip_members(path)


def test_many_bad_members_are_summed_up(tmp_path):
    path = zipped(tmp_path / "evil.zip", {f"xx/{k}.csv": b"" for k in range(9)})
    with pytest.raises(InputError) as caught:
        zip_members(renamed(path, b"xx/", b"../"))
    assert len(caught.value.problems) == 6
    assert caught.value.problems[-1] == "evil.zip: and 4 more."


@pytest.mark.parametrize("content", [b"", b"PK", b"id,age\n7,31\n", b"PK\x05\x06" + bytes(17)])
def test_what_is_not_a_zip_archive_is_an_input_error(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"^a\.zip: the zip archive is broken \(.+\)\. Get the file again\.$"):
        zip_members(tmp_path / "a.zip")


def test_a_missing_archive_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match=r"no\.zip: no such file\.$"):
        zip_members(tmp_path / "no.zip")


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.just(0) | st.integers(1, 300),
)
def test_a_damaged_archive_gives_the_content_or_an_input_error(tmp_path, changes, cut):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/nodes.csv", NODES)
    damaged = bytearray(buffer.getvalue())
    for position, value in changes:
        damaged[position % len(damaged)] = value
    path = tmp_path / "a.zip"
    path.write_bytes(damaged[: len(damaged) - cut])
    assert content_or_message(lambda: read_zip_member(path, "a/nodes.csv", limit=10_000)) in (NODES, "a.zip")


# --- gzip and plain files ---------------------------------------------------------------------------------------------


def test_plain_and_compressed_files_read_alike(tmp_path):
    (tmp_path / "nodes.csv").write_bytes(NODES)
    (tmp_path / "nodes.csv.gz").write_bytes(PACKED)
    (tmp_path / "disguised.csv").write_bytes(PACKED)
    for name in ("nodes.csv", "nodes.csv.gz", "disguised.csv"):
        assert read_bytes(tmp_path / name, limit=len(NODES)) == NODES
    assert gunzip((tmp_path / "nodes.csv.gz").read_bytes()) == NODES


@settings(deadline=None)
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4), st.integers(0, 3))
def test_joined_gzip_members_expand_to_their_joined_content(pieces, padding):
    whole = b"".join(pieces)
    assert gunzip(b"".join(map(gzip.compress, pieces)) + bytes(padding), limit=len(whole)) == whole


def test_the_limit_counts_over_all_members():
    with pytest.raises(InputError, match=r"^n\.gz: expands to more than the 15 bytes allowed\."):
        gunzip(gzip.compress(b"0123456789", mtime=0) * 2, limit=15, name="n.gz")


def test_a_gzip_bomb_is_refused_having_read_no_more_than_the_limit(tmp_path):
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(bytes(50_000_000)))
    with pytest.raises(InputError, match=r"^bomb\.csv\.gz: expands to more than the 100,000 bytes allowed\."):
        read_bytes(tmp_path / "bomb.csv.gz", limit=100_000)


def test_a_plain_file_beyond_the_limit_is_refused(tmp_path):
    (tmp_path / "nodes.csv").write_bytes(b"x" * 101)
    with pytest.raises(
        InputError, match=r"^nodes\.csv: more than the 100 bytes allowed\. Raise the limit if you mean it\.$"
    ):
        read_bytes(tmp_path / "nodes.csv", limit=100)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_file_that_never_ends_is_refused():
    with pytest.raises(InputError, match=r"^/dev/zero: is a device, not a file\.$"):
        read_bytes("/dev/zero", limit=1_000)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a gzip file, whatever its name says. Rename it if it is not compressed."),
        (b"id,age\n", "not a gzip file, whatever its name says. Rename it if it is not compressed."),
        (PACKED[:-5], "the gzip data ends too early. Get the file again."),
        (PACKED[:12], "the gzip data ends too early. Get the file again."),
        (b"\x1f\x8b", "the gzip data ends too early. Get the file again."),
        (PACKED + b"garbage", "7 bytes follow the end of the gzip data. Get the file again."),
        (PACKED + PACKED[:20], "the gzip data ends too early. Get the file again."),
    ],
)
def test_broken_gzip_data_is_named(tmp_path, content, message):
    (tmp_path / "n.csv.gz").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_bytes(tmp_path / "n.csv.gz")
    assert str(caught.value) == f"n.csv.gz: {message}"


@settings(deadline=None, max_examples=300)
@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
def test_damaged_gzip_data_gives_the_content_or_an_input_error(position, value):
    damaged = bytearray(PACKED)
    damaged[position % len(damaged)] = value
    assert content_or_message(lambda: gunzip(bytes(damaged), limit=10_000, name="a.gz")) in (NODES, "a.gz")


def test_unreadable_paths_are_input_errors(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: no such file\.$"):
        read_bytes(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r": is a folder, not a file\.$"):
        read_bytes(tmp_path)
    with pytest.raises(InputError, match=r": cannot be read \(.+\)\.$"):
        read_bytes(tmp_path / ("n" * 300))
