"""How the demo grader judges: partly right answers earn part of the score. Its owner shows this to nobody.

A response is judged against the answer key (`answers.json`) on three dimensions:

  correctness  0.60   a number: right 1, within a tenth 0.5; words: the share of those that must occur
  format       0.25   the form that was asked for: kept 1, nearly 0.5, not 0
  brevity      0.15   up to 25 words 1, from there falling to 0 at 75 words
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

WEIGHTS = {"correctness": 0.60, "format": 0.25, "brevity": 0.15}
BRIEF_WORDS, LONG_WORDS = 25, 75
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
WORD = re.compile(r"[\w-]+")


@dataclass(frozen=True)
class Judgement:
    """What is said of one response: `marks` by dimension, 0 to 1; `sure` is false where nothing was recognised."""

    marks: Mapping[str, float]
    reasoning: str
    sure: bool

    @property
    def value(self) -> float:
        return round(sum(WEIGHTS[name] * mark for name, mark in self.marks.items()), 6)


def judge(truth: Mapping[str, object], response: str) -> Judgement:
    """Judge one response by its entry in the answer key.

    raises KeyError if the entry names a form that this grader does not know
    """
    correctness = _correctness(truth, response)
    form = FORMS[str(truth["form"])](truth, response.strip())
    length = len(response.split())
    marks = {"correctness": correctness, "format": form, "brevity": _brevity(length)}
    sentences = (
        f"{_phrase(correctness, 'Right', 'Partly right', 'Wrong')} in substance.",
        f"The form that was asked for ({str(truth['form']).replace('_', ' ')}) is "
        f"{_phrase(form, 'kept', 'nearly kept', 'not kept')}.",
        f"{length} words.",
    )
    return Judgement(marks, " ".join(sentences), sure=bool(correctness or form))


def _phrase(mark: float, full: str, part: str, none: str) -> str:
    return full if mark == 1 else part if mark else none


def _correctness(truth: Mapping[str, object], response: str) -> float:
    if "number" in truth:
        return _closeness(Decimal(str(truth["number"])), response)
    expected_words = [str(word) for word in truth["words"]]  # type: ignore[attr-defined]
    text = response if truth["form"] == "capitals" else response.lower()
    words = set(WORD.findall(text))
    hits = sum(word in words or (len(word) > 3 and word in text) for word in expected_words)
    return hits / len(expected_words)


def _closeness(expected: Decimal, response: str) -> float:
    """1 for the last number of the response if it is the wanted one, 0.5 if it is off by a tenth at most."""
    numbers = NUMBER.findall(response.replace(",", ""))
    try:
        last_number = Decimal(numbers[-1])
    except (IndexError, InvalidOperation):
        return 0.0
    if last_number == expected:
        return 1.0
    return 0.5 if abs(last_number - expected) <= abs(expected) / 10 else 0.0


def _brevity(words: int) -> float:
    return round(min(1.0, max(0.0, (LONG_WORDS - words) / (LONG_WORDS - BRIEF_WORDS))), 6)


# The forms: each measures how well a response keeps to one


def _answer_line(truth: Mapping[str, object], response: str) -> float:
    last = response.splitlines()[-1] if response else ""
    if re.fullmatch(r"Answer: -?\d+(\.\d+)?", last):
        return 1.0
    return 0.5 if "answer" in last.lower() and NUMBER.search(last) else 0.0


def _json_array(truth: Mapping[str, object], response: str) -> float:
    try:
        value = json.loads(response)
    except ValueError:
        return 0.0
    return 1.0 if isinstance(value, list) and len(value) == len(truth["words"]) else 0.5  # type: ignore[arg-type]


def _pattern(exact: str, near: str) -> Callable[[Mapping[str, object], str], float]:
    """A form that is a regular expression: kept by the whole response, nearly kept where `near` occurs in it."""

    def mark(truth: Mapping[str, object], response: str) -> float:
        if re.fullmatch(exact, response):
            return 1.0
        return 0.5 if re.search(near, response) else 0.0

    return mark


def _at_most_words(truth: Mapping[str, object], response: str) -> float:
    words, limit = len(response.split()), int(str(truth["limit"]))
    if words <= limit:
        return 1.0
    return 0.5 if words <= limit * 1.5 else 0.0


FORMS: dict[str, Callable[[Mapping[str, object], str], float]] = {
    "answer_line": _answer_line,
    "json_array": _json_array,
    "iso_date": _pattern(r"\d{4}-\d{2}-\d{2}", r"\d{4}-\d{2}-\d{2}"),
    "one_of": _pattern(r"yes|no", r"(?i)^(yes|no)\b"),
    "at_most_words": _at_most_words,
    "capitals": _pattern(r"[A-Z]+( [A-Z]+)*", r"^[A-Z]+[, ]"),
    "comma_line": _pattern(r"\w+(,\w+)*", r"^\w+(, ?\w+)+$"),
}
