"""Judges answers to grade-school problems: 1 if the number after the last `A:` is the right one, else 0.

The right answer travels with the completion (`metadata.groundTruth`, as the data set words it). Numbers are compared as
numbers: `A: $1,250.00` is right where the truth says `A: 1250`.

Serve it with `python -m autotune_sdk.grader grader:grader --port 9101 --secret-file FILE`.
"""

import re
from decimal import Decimal, InvalidOperation

from autotune_sdk.grader import Completion, Grader, Score

MARK = "A:"
NOT_OF_A_NUMBER = re.compile(r"[^0-9.+-]")

grader = Grader("GSM8K", "1.0.0", max_batch_size=200, supports_explanations=True, domains=("arithmetic",))


def number(text: str) -> Decimal | None:
    """The digits, sign and point of the last line that begins with `A:`, read as a number; None if there is none."""
    lines = [line for line in text.splitlines() if line.startswith(MARK)]
    if not lines:
        return None
    try:
        return Decimal(NOT_OF_A_NUMBER.sub("", lines[-1].removeprefix(MARK)))
    except InvalidOperation:
        return None


@grader.score
def score(completion: Completion) -> Score:
    """1 or 0, and the two numbers. A response without an answer line is wrong, not unjudgeable."""
    expected, answered = number(str(completion.metadata.get("groundTruth", ""))), number(completion.response)
    right = answered is not None and answered == expected
    return Score(float(right), reasoning=f"given {answered}, wanted {expected}")
