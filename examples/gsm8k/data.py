"""The data set as completions: 1,319 problems, each answered by four models."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class NoData(Exception):
    """The file is not there, or is not this data set."""


@dataclass(frozen=True)
class Answer:
    """One model's answer to one problem; `correct` is what the file says of it."""

    row: int
    model: str
    prompt: str
    truth: str
    response: str
    correct: bool

    @property
    def external_id(self) -> str:
        return f"gsm8k/{self.row}/{self.model}"

    def completion(self) -> dict[str, Any]:
        """As the client's `submit_batch` takes it."""
        return {
            "model_id": self.model,
            "prompt": self.prompt,
            "response": self.response,
            "external_id": self.external_id,
            "metadata": {"groundTruth": self.truth},
        }


def load(path: str) -> list[Answer]:
    """Every answer of the file, in its order.

    raises NoData with a sentence that says what to do
    """
    if not path:
        raise NoData("name the data set: GSM8K_FILE=…/gsm8k_model_solutions.jsonl (openai/grade-school-math, MIT)")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as exc:
        raise NoData(f"GSM8K_FILE={path}: {exc.strerror}") from exc
    try:
        return [
            answer for row, line in enumerate(text.split("\n")) if line for answer in _answers(row, json.loads(line))
        ]
    except (ValueError, KeyError, TypeError) as exc:
        raise NoData(f"GSM8K_FILE={path} is not the file of model solutions: {exc!r}") from exc


def _answers(row: int, problem: dict[str, Any]) -> Iterator[Answer]:
    for model, attempt in problem.items():
        if isinstance(attempt, dict):
            yield Answer(
                row,
                model,
                problem["question"],
                problem["ground_truth"],
                attempt["solution"],
                bool(attempt["is_correct"]),
            )
