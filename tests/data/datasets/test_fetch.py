from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairview.data.datasets import fetch as fetch_module
from fairview.data.datasets.fetch import addresses_of, fetch
from fairview.errors import DataNotFoundError, InputError

CONTENT = bytes(range(256)) * 2000  # several chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """A local server whose answers the test writes; it counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {"/file": whole}
        self.requests: list[str] = []
        self.released = threading.Event()  # lets answers that hang end with the test
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append(self.path)
                answer = server.answers.get(self.path)
                if answer is None:
                    self.send_error(404)
                else:
                    answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def whole(request: BaseHTTPRequestHandler, content: bytes = CONTENT, declared: int | None = len(CONTENT)) -> None:
    request.send_response(200)
    if declared is not None:
        request.send_header("Content-Length", str(declared))
    request.end_headers()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client had enough
        request.wfile.write(content)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")  # the test's server is on this machine, whatever proxy is configured
    running = Server()
    yield running
    running.close()


def fails(
    error: type[Exception], server: Server, target: Path, *, limit: int = len(CONTENT), timeout: float = 10
) -> str:
    """The message of a download that must fail and leave nothing behind."""
    before = listing(target.parent) if target.parent.exists() else []
    with pytest.raises(error) as caught:
        fetch(f"{server.url}/file", target, sha256=SHA256, limit=limit, timeout=timeout)
    assert listing(target.parent) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_download_appears_under_its_name_and_its_folder_is_made(server, tmp_path):
    target = tmp_path / "new" / "folder" / "bail.zip"
    assert fetch(f"{server.url}/file", target, sha256=SHA256, limit=len(CONTENT)) == target
    assert target.read_bytes() == CONTENT
    assert listing(target.parent) == ["bail.zip"]


def test_a_body_of_undeclared_length_is_fine(server, tmp_path):
    server.answers["/file"] = lambda request: whole(request, declared=None)
    fetch(f"{server.url}/file", tmp_path / "a", sha256=SHA256, limit=len(CONTENT))
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_wrong_hash_names_both_and_keeps_the_old_file(server, tmp_path):
    target = tmp_path / "bail.zip"
    target.write_bytes(b"old")
    wrong = CONTENT[:-1] + b"!"
    server.answers["/file"] = lambda request: whole(request, wrong)
    message = fails(InputError, server, target)
    assert message == (
        f"bail.zip: {server.url}/file is not the expected file: sha256 {hashlib.sha256(wrong).hexdigest()}, "
        f"expected {SHA256}. Not kept."
    )
    assert target.read_bytes() == b"old"


def test_a_right_download_replaces_the_old_file(server, tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    fetch(f"{server.url}/file", tmp_path / "a", sha256=SHA256, limit=len(CONTENT))
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_missing_page_says_what_to_put_where(server, tmp_path):
    del server.answers["/file"]
    assert fails(DataNotFoundError, server, tmp_path / "bail.zip") == (
        f"bail.zip: could not be downloaded (127.0.0.1 answers 404 Not Found). "
        f"Get {server.url}/file by other means and put it at {tmp_path / 'bail.zip'}."
    )


def test_the_next_address_is_asked_when_one_fails(server, tmp_path):
    fetch([f"{server.url}/moved", f"{server.url}/file"], tmp_path / "a", sha256=SHA256, limit=len(CONTENT))
    assert server.requests == ["/moved", "/file"]
    assert listing(tmp_path) == ["a"]


def test_a_truncated_body_is_not_a_file(server, tmp_path):
    server.answers["/file"] = lambda request: whole(request, CONTENT[:100_000])
    message = fails(DataNotFoundError, server, tmp_path / "a")
    assert "100,000 of 512,000 bytes" in message


@pytest.mark.parametrize("declared", [len(CONTENT), None])
def test_a_body_beyond_the_limit_is_refused_whether_declared_or_not(server, tmp_path, declared):
    server.answers["/file"] = lambda request: whole(request, declared=declared)
    message = fails(InputError, server, tmp_path / "a", limit=100_000)
    assert "100,000" in message


def test_a_server_that_does_not_answer_times_out(server, tmp_path):
    server.answers["/file"] = lambda request: server.released.wait(30) and None
    message = fails(DataNotFoundError, server, tmp_path / "a", timeout=0.3)
    assert message.startswith("a: could not be downloaded (127.0.0.1: no answer in time)")


def test_a_server_that_stops_in_the_middle_times_out(server, tmp_path):
    def stalls(request: BaseHTTPRequestHandler) -> None:
        whole(request, CONTENT[:70_000])
        server.released.wait(30)

    server.answers["/file"] = stalls
    message = fails(DataNotFoundError, server, tmp_path / "a", timeout=0.3)
    assert "no answer in time after" in message


def test_no_network_is_one_line(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DataNotFoundError) as caught:
        fetch(f"http://127.0.0.1:{port}/a", tmp_path / "a", sha256=SHA256, limit=10, timeout=5)
    assert str(caught.value) == (
        f"a: could not be downloaded (127.0.0.1: Connection refused). "
        f"Get http://127.0.0.1:{port}/a by other means and put it at {tmp_path / 'a'}."
    )
    assert listing(tmp_path) == []


def test_an_interrupt_leaves_nothing_behind(server, tmp_path, monkeypatch):
    class Interrupted:
        def __enter__(self) -> Callable[[int], None]:
            def advance(count: int) -> None:
                assert len(listing(tmp_path)) == 1  # the unfinished file is there while it is written
                raise KeyboardInterrupt

            return advance

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(fetch_module, "track", lambda *_: Interrupted())
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.url}/file", tmp_path / "a", sha256=SHA256, limit=len(CONTENT))
    assert listing(tmp_path) == []


def test_progress_adds_up_to_the_declared_size(server, tmp_path, monkeypatch):
    seen: list[int] = []

    class Recorder:
        def __enter__(self) -> Callable[[int], None]:
            return seen.append

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(fetch_module, "track", lambda *arguments: seen.append(-arguments[1]) or Recorder())
    fetch(f"{server.url}/file", tmp_path / "a", sha256=SHA256, limit=10**6)
    assert seen[0] == -len(CONTENT)
    assert sum(seen) == 0


def test_a_full_disk_is_a_message(server, tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert fails(InputError, server, tmp_path / "a") == (
        f"{tmp_path / 'a'}: cannot be written (No space left on device). Make room, or choose another folder."
    )


def test_a_folder_that_cannot_be_made_is_a_message(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match=r"cannot be written \(.+\)\. Make room, or choose another folder\.$"):
        fetch(f"{server.url}/file", tmp_path / "file" / "a", sha256=SHA256, limit=10**6)
    assert server.requests == []


def test_the_file_is_readable_by_whom_the_user_lets(server, tmp_path):
    if os.name != "posix":
        pytest.skip("POSIX permissions")
    before = os.umask(0o022)
    try:
        fetch(f"{server.url}/file", tmp_path / "a", sha256=SHA256, limit=10**6)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/a",
        "ftp://localhost/a",
        "file:///etc/passwd",
        "/etc/passwd",
        "https:///a",
        "http://127.evil.org/a",
    ],
)
def test_only_https_and_this_machine_are_asked(tmp_path, url):
    with pytest.raises(InputError, match="only https addresses are fetched, and http ones on this machine"):
        fetch(url, tmp_path / "a", sha256=SHA256, limit=10)


def redirect(location: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", location)
        request.end_headers()

    return answer


def test_a_redirect_on_the_way_is_followed(server, tmp_path):
    server.answers["/old"] = redirect("/file")
    fetch(f"{server.url}/old", tmp_path / "a", sha256=SHA256, limit=len(CONTENT))
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_a_redirect_to_plain_http_elsewhere_is_refused(server, tmp_path):
    server.answers["/file"] = redirect("http://example.org/a")
    assert fails(InputError, server, tmp_path / "a") == (
        "'http://example.org/a': only https addresses are fetched, and http ones on this machine."
    )


def test_a_mirror_takes_the_place_of_all_sources(monkeypatch):
    sources = ["https://example.org/x/a b.zip"]
    assert addresses_of("a b.zip", sources, environment={}) == tuple(sources)
    monkeypatch.setenv("FAIRVIEW_MIRROR", "https://mirror.example.org/data/")
    assert addresses_of("a b.zip", sources) == ("https://mirror.example.org/data/a%20b.zip",)
