"""Write files that appear completely or not at all, and compute their digest."""

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
    """The connection broke while the client read an export."""

    code = "export_broken"


class DamagedFile(AutotuneError):
    """The downloaded bytes do not match the file's SHA-256."""

    code = "export_damaged"


def copy(
    response: requests.Response,
    file: IO[bytes],
    digest: hashlib._Hash,
    on_bytes: Callable[[int], None] | None = None,
) -> int:
    """Write a body as it arrives and update the digest; return the bytes written. Raises BrokenExport.

    on_bytes  called with the number of bytes written so far
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
        raise BrokenExport(f"the export was interrupted after {size} bytes: {exc}") from exc
    return size


def place(temporary: str, path: str) -> None:
    """Give a complete file its name, and the permissions of a new file."""
    mask = os.umask(0o022)
    os.umask(mask)
    os.chmod(temporary, 0o666 & ~mask)
    os.replace(temporary, path)
