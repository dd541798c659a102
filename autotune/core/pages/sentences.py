"""Joins sentences of several authors into one text."""

import re
from typing import Final

_ENDED: Final = re.compile(r"""[.!?…:;。！？]["'”’»)\]]*\Z""")


def joined(*sentences: str | None) -> str:
    """Join sentences with one space between two, and add a full stop to each that has no end.

    sentences  as their authors wrote them, such as graders; empty ones and None are skipped
    """
    parts = [sentence.strip() for sentence in sentences if sentence and sentence.strip()]
    return " ".join(sentence if _ENDED.search(sentence) else f"{sentence}." for sentence in parts)
