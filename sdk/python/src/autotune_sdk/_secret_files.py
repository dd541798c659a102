"""Secrets that the server shows once, in files that only their owner can read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import AutotuneError


class NoSecret(AutotuneError):
    """There is no secret to save: the answer was repeated for an idempotency key, or none was made."""

    code = "no_secret"


def save(path: str | os.PathLike[str], secret: str | None) -> None:
    """Write a secret and a newline, with mode 0600, whole or not at all; replaces what is there.

    raises NoSecret if the secret is None, OSError if the file cannot be written
    """
    if secret is None:
        raise NoSecret("this answer has no secret: it is shown once, in the first answer; rotate it to get a new one")
    place = Path(path)
    descriptor, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
        os.replace(draft, place)
    except BaseException:
        os.unlink(draft)
        raise
