"""Secrets that the server shows once, in files that only their owner can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from .errors import AutotuneError


class NoSecret(AutotuneError):
    """There is no secret to save: the server repeated an answer for an idempotency key, or created no secret."""

    code = "no_secret"


def save(path: str | os.PathLike[str], secret: str | None) -> None:
    """Write a secret and a newline to a file of mode 0600, completely or not at all. Replaces an existing file.

    raises NoSecret if the secret is None, OSError if the file cannot be written
    """
    if secret is None:
        raise NoSecret("this answer has no secret: the first answer shows it once; rotate the secret to get a new one")
    target = Path(path)
    descriptor, draft = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # with mode 0600
    with ExitStack() as on_error:
        on_error.callback(os.unlink, draft)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secret + "\n")
        os.replace(draft, target)
        on_error.pop_all()
