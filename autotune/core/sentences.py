"""Sentences set one after the other, whoever wrote them."""

import re
from typing import Final

_ENDED: Final = re.compile(r"""[.!?…:;。！？]["'”’»)\]]*\Z""")


def joined(*sentences: str | None) -> str:
    """One text of several sentences: a full stop where a sentence lacks its end, and one space between two.

    sentences  each as somebody wrote it, perhaps a grader; empty ones and None are left out
    """
    kept = [sentence.strip() for sentence in sentences if sentence and sentence.strip()]
    return " ".join(sentence if _ENDED.search(sentence) else f"{sentence}." for sentence in kept)
