from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairview.data.datasets import (
    dataset_names,
    describe,
    fetch_dataset,
    find_files,
    load_dataset,
    registry,
    table_columns,
)
from fairview.data.datasets.files import search_path, user_cache
from fairview.errors import DataNotFoundError, InputError


def test_the_known_names():
    assert dataset_names() == ("german", "bail", "bail-no-time", "bail-no-time-links", "credit-small", "credit-large")


@pytest.mark.parametrize("name", dataset_names())
def test_every_entry_says_what_a_reader_must_know(name):
    known = describe(name)
    assert known.name == name
    assert len(known.harms) >= 4
    assert known.licence
    assert known.citation
    assert known.summary.endswith("?")
    assert known.bundled == (name == "german")
    assert known.fetchable == (name != "credit-large")
    assert all(len(download.sha256) == 64 for download in known.downloads)
    assert all(url.startswith("https://") for download in known.downloads for url in download.urls)
    assert all(url.endswith(f"/{download.name}") for download in known.downloads for url in download.urls)
    with pytest.raises(dataclasses.FrozenInstanceError):
        known.nodes = 3  # type: ignore[misc]


def test_columns_that_are_no_channels_can_be_read_by_name():
    german = load_dataset("german")
    purpose = table_columns("german", ["PurposeOfLoan", "Age"])
    assert "PurposeOfLoan" not in german.channels
    assert purpose["PurposeOfLoan"].value_counts(sort=True)["count"][0] == 280  # electronics
    assert (purpose["Age"].to_numpy() == german.features[:, german.channel_index("Age")]).all()
    with pytest.raises(InputError) as caught:
        table_columns("german", ["Purpose"])
    assert str(caught.value) == "german: no column 'Purpose'. Did you mean 'PurposeOfLoan'?"


def test_a_dataset_without_a_table_says_so():
    village = dataclasses.replace(describe("german"), name="village", table=None)
    expected = r"^village: the dataset has no table to read 'rent' from\.$"
    with registry.DATASETS.added(village), pytest.raises(InputError, match=expected):
        table_columns("village", ["rent"])


@pytest.mark.parametrize("name", ["germen", "GERMAN", "../german", "bail_no_time", "", None])
def test_an_unknown_name_is_an_input_error_everywhere(name, empty_home):
    for attempt in (load_dataset, describe, find_files, fetch_dataset):
        with pytest.raises(
            InputError, match=r"^no dataset '.*'\. (Did you mean '(german|bail-no-time(-links)?)'\?|Known: german, )"
        ):
            attempt(name)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("bail", "bail.zip or bail.csv"), ("bail-no-time", "bail.zip or bail.csv"), ("credit-small", "credit.csv")],
)
def test_with_nothing_at_hand_one_line_says_what_to_put_where(name, wanted, empty_home):
    assert not find_files(name).at_hand
    with pytest.raises(DataNotFoundError) as caught:
        load_dataset(name)
    assert str(caught.value) == (
        f"{name}: not at hand. Put {wanted} into {empty_home}, or name the folder with data_dir or FAIRVIEW_DATA, "
        f"or call fv.fetch_dataset('{name}')."
    )


def test_with_nothing_at_hand_german_works(empty_home):
    assert find_files("german").at_hand
    assert load_dataset("german").num_nodes == 1_000
    assert not empty_home.exists()


def test_folders_are_searched_in_order(empty_home, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRVIEW_DATA", str(tmp_path / "named"))
    for folder in (tmp_path / "given", tmp_path / "named", empty_home):
        folder.mkdir(parents=True)
    assert search_path(tmp_path / "given") == (tmp_path / "given", tmp_path / "named", empty_home)
    for folder in (empty_home, tmp_path / "named", tmp_path / "given"):
        (folder / "credit.csv").write_bytes(b"")
        assert find_files("credit-small", tmp_path / "given").places["credit.csv"].path == folder / "credit.csv"


@pytest.mark.skipif(sys.platform == "win32", reason="XDG is not for Windows")
def test_the_cache_is_where_the_system_says(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert user_cache() == Path("/elsewhere/fairview")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert user_cache() == Path("/home/someone/.cache/fairview")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert user_cache() == Path("/home/someone/.cache/fairview")


def test_the_cache_on_windows(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert user_cache() == tmp_path / "fairview"


def zip_of(path: Path, members: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("member", ["bail/bail.csv", "bail.csv"])
def test_another_table_in_the_archive_is_refused_with_both_hashes(empty_home, member):
    other = b"WHITE,RECID\n0,1\n"
    zip_of(empty_home / "bail.zip", {member: other})
    with pytest.raises(InputError) as caught:
        load_dataset("bail")
    assert str(caught.value) == (
        f"{empty_home / 'bail.zip'}:{member}: not the file that bail is made of: "
        f"sha256 {hashlib.sha256(other).hexdigest()}, "
        "expected 11a7c62be2b7aed7cb069624789755d5f57acc8b69580564e2401b084e2d5faf. Replace it, or move it away."
    )


def test_a_file_beyond_its_limit_is_not_read(empty_home):
    empty_home.mkdir(parents=True)
    (empty_home / "bail.csv").write_bytes(bytes(4_000_001))
    with pytest.raises(InputError, match=r"^bail\.csv: more than the 4,000,000 bytes allowed\."):
        load_dataset("bail")


def test_a_broken_archive_does_not_break_the_listing_but_the_loading(empty_home):
    empty_home.mkdir(parents=True)
    (empty_home / "bail.zip").write_bytes(b"PK\x03\x04 and no more")
    found = find_files("bail")
    assert not found.at_hand
    with pytest.raises(InputError, match=r"^bail\.zip: the zip archive is broken"):
        load_dataset("bail")


def test_a_hostile_archive_is_refused(empty_home):
    zip_of(empty_home / "bail.zip", {"../bail.csv": b"", "bail/bail.csv": b""})
    with pytest.raises(
        InputError, match=r"^bail\.zip: refused: member '\.\./bail\.csv' leaves its folder with '\.\.'\.$"
    ):
        load_dataset("bail")


def test_a_link_to_the_outside_is_read_as_what_it_names_and_refused_by_its_hash(empty_home, tmp_path):
    (tmp_path / "secret").write_text("secret")
    empty_home.mkdir(parents=True)
    try:
        (empty_home / "credit.csv").symlink_to(tmp_path / "secret")
    except OSError:
        pytest.skip("no symbolic links here")
    with pytest.raises(InputError, match="not the file that credit-small is made of") as caught:
        load_dataset("credit-small")
    assert "secret" not in str(caught.value).replace(str(tmp_path), "")


def test_importing_the_datasets_does_not_import_torch():
    code = "import sys, fairview.data.datasets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- fetching, from a mirror on this machine --------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path, monkeypatch) -> Iterator[Path]:
    folder = tmp_path / "mirror"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("FAIRVIEW_MIRROR", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("no_proxy", "*")
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("name", ["bail", "german", "credit-small"])
def test_what_is_fetched_from_a_mirror_is_the_circulated_file(circulated, empty_home, mirror, name):
    (download,) = describe(name).downloads
    content = (circulated / download.name).read_bytes()
    (mirror / download.name).write_bytes(content)
    assert fetch_dataset(name) == (empty_home / download.name,)
    assert (empty_home / download.name).read_bytes() == content
    assert find_files(name).at_hand


def pin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let `credit-small` be a file that we can write."""
    known = describe("credit-small")
    sha256 = hashlib.sha256(content).hexdigest()
    download = dataclasses.replace(known.downloads[0], sha256=sha256, size=len(content))
    changed = dataclasses.replace(known, downloads=(download,))
    monkeypatch.setattr(registry, "DATASETS", {"credit-small": changed})


def test_a_fetch_goes_into_the_first_folder_of_the_search_path(empty_home, mirror, monkeypatch, tmp_path):
    pin(monkeypatch, b"table")
    (mirror / "credit.csv").write_bytes(b"table")
    assert fetch_dataset("credit-small", data_dir=tmp_path / "here") == (tmp_path / "here" / "credit.csv",)
    assert (tmp_path / "here" / "credit.csv").read_bytes() == b"table"
    assert not empty_home.exists()


def test_a_file_that_lies_there_is_not_fetched_again_and_a_wrong_one_is_replaced_on_request(
    empty_home, mirror, monkeypatch
):
    pin(monkeypatch, b"table")
    empty_home.mkdir(parents=True)
    (empty_home / "credit.csv").write_bytes(b"table")
    assert fetch_dataset("credit-small") == (empty_home / "credit.csv",)  # though the mirror is empty
    (empty_home / "credit.csv").write_bytes(b"wrong")
    with pytest.raises(DataNotFoundError, match="answers 404"):
        fetch_dataset("credit-small", overwrite=True)
    (mirror / "credit.csv").write_bytes(b"table")
    with pytest.raises(InputError) as caught:
        fetch_dataset("credit-small")
    assert str(caught.value) == (
        f"{empty_home / 'credit.csv'}: exists, and is not the file of credit-small. Move it away, or pass "
        "overwrite=True to replace it."
    )
    assert (empty_home / "credit.csv").read_bytes() == b"wrong"
    fetch_dataset("credit-small", overwrite=True)
    assert (empty_home / "credit.csv").read_bytes() == b"table"


def test_a_mirror_with_another_file_is_refused(empty_home, mirror, monkeypatch):
    pin(monkeypatch, b"table")
    (mirror / "credit.csv").write_bytes(b"other")
    with pytest.raises(InputError, match="is not the expected file"):
        fetch_dataset("credit-small")
    assert list(empty_home.iterdir()) == []
