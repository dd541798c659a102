"""Clean text from graders before it is stored or shown: shorten it, and remove control characters and secrets."""

import re
from collections.abc import Iterable
from typing import Final

MAX_TEXT: Final = 500
_CONSIDERED: Final = 8_192  # characters that are processed; the rest would be cut anyway
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SECRET = re.compile(r"atgs_[\x21-\x7e]{8,}", re.ASCII)
_REDACTED: Final = "[redacted]"


def clean(text: str, secrets: Iterable[str] = (), limit: int = MAX_TEXT) -> str:
    """Return a grader's text as one line of at most `limit` characters, with secrets (real or likely) redacted."""
    short = text[:_CONSIDERED]
    for secret in secrets:
        short = short.replace(secret, _REDACTED)
    short = " ".join(_CONTROLS.sub(" ", _SECRET.sub(_REDACTED, short)).split())
    return short if len(short) <= limit else short[: limit - 1] + "…"
