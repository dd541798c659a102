"""Log filters: they redact secrets, and limit how often the same line is written."""

import logging
import re
import threading
import time
from typing import Final

# Callbacks, invitations, the keys of password resets, reward endpoints, links to exports: readers of the log must not
# be able to use them. A mistyped address contains its token as well.
_SLASH = r"(?:/|%2f)++"
_PLACES = (
    "callbacks", "invitations", "downloads", rf"account{_SLASH}password{_SLASH}reset",
    rf"rewards{_SLASH}[^/\s?\"']{{1,64}}?",
)  # fmt: skip
SECRET_PATH = re.compile(rf"({_SLASH}(?:{'|'.join(_PLACES)}){_SLASH})(?!\[token\])[^/\s?\"']+", re.IGNORECASE)


class RedactionFilter(logging.Filter):
    """Removes the token from each address that a log line quotes."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):  # one by one: uvicorn's formatter counts them
            record.args = tuple(redacted(arg) if isinstance(arg, str) else arg for arg in record.args)
        message = record.getMessage()
        if SECRET_PATH.search(message):
            record.msg, record.args = redacted(message), ()
        return True


def redacted(text: str) -> str:
    """Return the text without the tokens of the addresses in it."""
    return SECRET_PATH.sub(r"\1[token]", text)


REPEATED_S: Final = 60.0


class RepeatFilter(logging.Filter):
    """Passes a line once in `every_s` seconds and adds how many it dropped; for lines that repeat during an outage.

    Two lines are the same if their logger, place in the code and level are, whatever their text. A record with the
    attribute `kind` is the same as those of its kind instead of those of its place.

    statuses  filter only answers with these HTTP statuses, as `django.request` names them; all other lines pass
    """

    def __init__(self, every_s: float = REPEATED_S, statuses: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.every_s, self.statuses = every_s, statuses
        self._lock = threading.Lock()
        self._passed: dict[tuple[str, object, int], tuple[float, int]] = {}  # time of the last line, dropped since

    def filter(self, record: logging.LogRecord) -> bool:
        if self.statuses and getattr(record, "status_code", None) not in self.statuses:
            return True
        place = getattr(record, "kind", record.lineno)
        line, now = (record.name, place, record.levelno), time.monotonic()
        with self._lock:
            passed_at, dropped = self._passed.get(line, (float("-inf"), 0))
            if now - passed_at < self.every_s:
                self._passed[line] = passed_at, dropped + 1
                return False
            self._passed[line] = now, 0
        if dropped:
            record.msg, record.args = f"{record.getMessage()} ({dropped} more like this)", ()
        return True


def repeating(name: str) -> logging.Logger:
    """Return a logger for lines that repeat with each request or second: it writes each once in REPEATED_S seconds."""
    logger = logging.getLogger(f"{name}.repeating")
    if not any(isinstance(present, RepeatFilter) for present in logger.filters):
        logger.addFilter(RepeatFilter())
    return logger
