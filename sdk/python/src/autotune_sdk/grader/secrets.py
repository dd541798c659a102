"""Load the secrets that a grader accepts: from arguments, the environment, or a file that it reads again on change."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterable

VARIABLE = "AUTOTUNE_GRADER_SECRET"
SECRET = re.compile(r"[!-~]{48,128}")
RACY_NS = 100_000_000  # a file this young may change again within one tick of its time stamp
SEPARATORS = re.compile(r"[\s,]+")

log = logging.getLogger(__name__)


class Secrets:
    """Active secrets, the current one first: it signs answers; all are accepted.

    values  one secret or several; default: AUTOTUNE_GRADER_SECRET (several: separated by commas or spaces)
    path    a file with one secret a line, current first; it may appear later and is read again when it changes
    raises  ValueError for a value that is not 48 to 128 printable characters (the value is not shown)
    """

    def __init__(self, values: str | Iterable[str] | None = None, path: str | os.PathLike[str] | None = None) -> None:
        self.values = None if values is None else (values,) if isinstance(values, str) else tuple(values)
        if any(not SECRET.fullmatch(v) for v in self.values or ()):
            raise ValueError("a grader's secret must have 48 to 128 printable ASCII characters without spaces")
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._from_file: tuple[str, ...] = ()

    def active(self) -> tuple[str, ...]:
        """Return the current secrets; empty until there is one."""
        configured = self.values if self.values is not None else _secrets(os.environ.get(VARIABLE, ""))
        if self.path is None:
            return configured
        return tuple(dict.fromkeys(self._file() + configured))

    def _file(self) -> tuple[str, ...]:
        assert self.path is not None
        try:
            stat = os.stat(self.path)
        except OSError:
            return self._from_file  # between two writes, or not created yet
        state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if state != self._seen:
            with self._lock:
                try:
                    with open(self.path, encoding="ascii", errors="replace") as file:
                        text = file.read()
                except OSError as exc:
                    log.warning("the secret file cannot be read: %s", exc.strerror)
                    return self._from_file
                file_secrets = _secrets(text)
                if file_secrets:  # an empty file is still being written
                    self._from_file = file_secrets
                fresh = time.time_ns() - stat.st_mtime_ns < RACY_NS
                self._seen = None if fresh else state
        return self._from_file

    def __repr__(self) -> str:
        return "Secrets(…)"


def _secrets(text: str) -> tuple[str, ...]:
    words = [word for word in SEPARATORS.split(text) if word]
    good = tuple(dict.fromkeys(word for word in words if SECRET.fullmatch(word)))
    if len(good) < len(set(words)):
        log.warning("ignored a word that is not a grader secret (48 to 128 printable ASCII characters)")
    return good
