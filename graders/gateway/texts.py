"""Texts that graders wrote, made fit to keep and to show: short, without control characters, without secrets."""

import re
from collections.abc import Iterable
from typing import Final

MAX_TEXT: Final = 500
_CONSIDERED: Final = 8_192  # characters looked at; the rest would be cut anyway
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SECRET = re.compile(r"atgs_[\x21-\x7e]{8,}", re.ASCII)
_REDACTED: Final = "[redacted]"


def clean(text: str, secrets: Iterable[str] = (), limit: int = MAX_TEXT) -> str:
    """A grader's text in one line of at most `limit` characters, its secrets (and what looks like one) redacted."""
    short = text[:_CONSIDERED]
    for secret in secrets:
        short = short.replace(secret, _REDACTED)
    short = " ".join(_CONTROLS.sub(" ", _SECRET.sub(_REDACTED, short)).split())
    return short if len(short) <= limit else short[: limit - 1] + "…"
