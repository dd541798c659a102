"""Judges how well an answer counts on: `count on from eight :` is to be answered `nine zero one`.

0.3 for number words and nothing else, 0.7 for the right ones in their places. The trainer never sees this file.

Serve it with `python -m autotune_sdk.grader grader:grader --port 9102 --secret-file FILE`.
"""

import re

from autotune_sdk.grader import Completion, Dimension, Grader, Score

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PROMPT = re.compile(rf"count on from ({'|'.join(NUMBERS)}) :")
WANTED = 3  # words
WEIGHTS = {"form": 0.3, "correctness": 0.7}

grader = Grader("Counting", "1.0.0", max_batch_size=200, supports_dimensions=True, domains=("counting",))


def answer(start: str) -> list[str]:
    """The numbers after `start`; after nine comes zero."""
    first = NUMBERS.index(start) + 1
    return [NUMBERS[number % len(NUMBERS)] for number in range(first, first + WANTED)]


@grader.score
def score(completion: Completion) -> Score:
    """A share of each weight: the words that are numbers, and those that are the right number. A prompt of another form
    has no right answer."""
    match = PROMPT.fullmatch(completion.prompt)
    expected = answer(match[1]) if match else []
    words = completion.response.split()
    marks = {
        "form": sum(word in NUMBERS for word in words[:WANTED]) / max(WANTED, len(words)),
        "correctness": sum(a == b for a, b in zip(words, expected, strict=False)) / WANTED,
    }
    value = sum(WEIGHTS[name] * mark for name, mark in marks.items())
    return Score(round(value, 6), dimensions=[Dimension(name, mark, WEIGHTS[name]) for name, mark in marks.items()])
