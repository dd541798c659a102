"""Files that appear whole or not at all, with the digest of what was written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import IO

import requests
import urllib3.exceptions

from .errors import AutotuneError, ConnectionFailed

PIECE = 1 << 16


class BrokenExport(ConnectionFailed):
    """The connection broke while an export was read."""

    code = "export_broken"


class DamagedFile(AutotuneError):
    """What was downloaded is not what the server says the file holds."""

    code = "export_damaged"


def copy(
    response: requests.Response,
    file: IO[bytes],
    digest: hashlib._Hash,
    on_bytes: Callable[[int], None] | None = None,
) -> int:
    """Writes a body as it comes and takes it into the digest; octets written. Raises BrokenExport.

    on_bytes  called with the octets written so far
    """
    size = 0
    try:
        for piece in response.raw.stream(PIECE, decode_content=False):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
            if on_bytes:
                on_bytes(size)
    except (urllib3.exceptions.HTTPError, requests.RequestException) as exc:
        raise BrokenExport(f"the export broke off after {size} bytes: {exc}") from exc
    return size


def place(temporary: str, path: str) -> None:
    """Gives a file that is whole its name, and the rights that a new file has."""
    mask = os.umask(0o022)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)
    os.replace(temporary, path)
