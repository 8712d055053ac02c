"""How does a file come from the internet without surprises?

A download is pinned by its full sha256, limited in size, and appears under its name only when it is whole: it is
written to a temporary file beside the target, checked, flushed to disk and moved into place.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ipaddress
import os
import secrets
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from email.message import Message
from pathlib import Path
from typing import IO, BinaryIO

from fairview._version import __version__
from fairview.errors import DataNotFoundError, InputError
from fairview.progress import track

MIRROR_VARIABLE = "FAIRVIEW_MIRROR"
"""Environment variable: base URL of a server with the same files under their own names, used instead of the sources."""

_CHUNK = 64 * 1024


def fetch(urls: str | Sequence[str], target: str | Path, *, sha256: str, limit: int, timeout: float = 30.0) -> Path:
    """Download a file, check it, and put it in place atomically. A file that lies at the target stays until then.

    Several addresses are tried in turn; each is https, or http on this machine. `timeout` is in seconds without any
    answer, and `limit` the most bytes that are accepted.

    Raises:
        DataNotFoundError: no address gave a whole file (no network, an error status, a broken connection, a timeout).
        InputError: the file is not the expected one or too large, the address is not allowed, or the target can't be
            written. Nothing is left behind.
    """
    target = Path(target)
    addresses = [urls] if isinstance(urls, str) else list(urls)
    for url in addresses:
        _check_address(url)
    failures = []
    for url in addresses:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                _download(url, file, name=target.name, sha256=sha256, limit=limit, timeout=timeout)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
            return target
        except _UnreachableError as failure:
            failures.append(str(failure))
        except OSError as error:
            raise InputError(
                f"{target}: cannot be written ({error.strerror or error}). Make room, or choose another folder."
            ) from None
        finally:
            with contextlib.suppress(OSError):  # also after Ctrl-C; usually it is in place and gone
                temporary.unlink()
    raise DataNotFoundError(
        f"{target.name}: could not be downloaded ({'; '.join(dict.fromkeys(failures))}). "
        f"Get {addresses[0]} by other means and put it at {target}."
    )


def addresses_of(name: str, urls: Sequence[str], *, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Where to ask for a file: its sources, or the mirror alone if `FAIRVIEW_MIRROR` names one.

    Example:
        >>> addresses_of("bail.zip", ["https://example.org/a/bail.zip"], environment={})
        ('https://example.org/a/bail.zip',)
        >>> addresses_of("bail.zip", [], environment={"FAIRVIEW_MIRROR": "https://data.example.org/graphs/"})
        ('https://data.example.org/graphs/bail.zip',)
    """
    mirror = (os.environ if environment is None else environment).get(MIRROR_VARIABLE, "").strip()
    if mirror:
        return (f"{mirror.rstrip('/')}/{urllib.parse.quote(name)}",)
    return tuple(urls)


class _UnreachableError(Exception):
    """This address gave no whole file; another one may."""


def _download(url: str, file: BinaryIO, *, name: str, sha256: str, limit: int, timeout: float) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"fairview/{__version__}"})  # noqa: S310 - checked
    host = urllib.parse.urlsplit(url).hostname
    try:
        response = _OPENER.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        raise _UnreachableError(f"{host} answers {error.code} {error.reason}") from None
    except (OSError, http.client.HTTPException) as error:  # no network, no such host, timeout, refused
        raise _UnreachableError(f"{host}: {_reason(error)}") from None
    digest, received = hashlib.sha256(), 0
    with response:
        length = response.headers.get("Content-Length", "")
        declared = int(length) if length.isdecimal() else None
        if declared is not None and declared > limit:
            raise InputError(f"{name}: {url} holds {declared:,} bytes; at most {limit:,} are expected. Not downloaded.")
        with track(f"Downloading {name}", declared or limit) as advance:
            while True:
                try:
                    chunk = response.read(_CHUNK)
                except (OSError, http.client.HTTPException) as error:
                    raise _UnreachableError(f"{host}: {_reason(error)} after {received:,} bytes") from None
                if not chunk:
                    break
                received += len(chunk)
                if received > limit:
                    raise InputError(f"{name}: {url} sends more than the {limit:,} bytes expected. Not kept.")
                digest.update(chunk)
                file.write(chunk)
                advance(len(chunk))
    if declared is not None and received < declared:
        raise _UnreachableError(f"{host}: the connection ended after {received:,} of {declared:,} bytes")
    if digest.hexdigest() != sha256:
        raise InputError(
            f"{name}: {url} is not the expected file: sha256 {digest.hexdigest()}, expected {sha256}. Not kept."
        )


def _reason(error: BaseException) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return " ".join(str(cause).split()) or type(cause).__name__


def _check_address(url: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname and _is_this_machine(parts.hostname):
        return
    raise InputError(f"'{url}': only https addresses are fetched, and http ones on this machine.")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect may not lead where an address may not point: to plain http, for example."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        try:
            _check_address(newurl)
        except InputError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


_OPENER = urllib.request.build_opener(_CheckedRedirects)
