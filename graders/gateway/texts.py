"""Clean text from graders before it is stored or shown: shorten it, and remove control characters and secrets."""

import re
from collections.abc import Iterable
from typing import Final

MAX_TEXT: Final = 500
_CONSIDERED: Final = 8_192  # characters that are processed; the rest would be cut anyway
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SECRET = re.compile(r"atgs_[\x21-\x7e]{8,}", re.ASCII)
_REDACTED: Final = "[redacted]"
_HEADER = re.compile(
    r"""((?:\b|_)(?:authorization|cookie)[\\"']*\s*[:=]\s*[\\"']*)[^"'\\\r\n]+""", re.IGNORECASE
)  # the whole value: some schemes have several parts
_MEMBER = re.compile(
    r"""((?:\b|_|-)(?:api[-_]?key|token|password|passwd|secret)[\\"']*\s*[:=]\s*[\\"']*)[^\s"'\\,;}]+""", re.IGNORECASE
)
_SCHEME = re.compile(r"\b((?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE)
_KEYS = re.compile(r"\b(?:at_live_|at_test_|whsec_)[\w+/=-]{8,}|(?<=/api/v1/callbacks/)[\w-]+")


def clean(text: str, secrets: Iterable[str] = (), limit: int = MAX_TEXT) -> str:
    """Return a grader's text as one line of at most `limit` characters, with secrets (real or likely) redacted."""
    short = redact(text[:_CONSIDERED], secrets)
    return short if len(short) <= limit else short[: limit - 1] + "…"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a whole text without control characters and repeated white space, and with secrets (real or likely)
    redacted: those in `secrets`, keys of Autotune, and values that look like those of an Authorization header."""
    for secret in secrets:
        text = text.replace(secret, _REDACTED)
    text = " ".join(_CONTROLS.sub(" ", _SECRET.sub(_REDACTED, text)).split())
    for pattern in (_HEADER, _MEMBER, _SCHEME):
        text = pattern.sub(rf"\1{_REDACTED}", text)
    return _KEYS.sub(_REDACTED, text)
