"""The arguments and results of scoring functions, with checks that prevent invalid scores from being sent."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

MAX_REASONING = 65_536
MAX_DIMENSIONS = 64
MAX_NAME = 64
MAX_ERROR = 2_000
BAD_TEXT = re.compile("[\x00\ud800-\udfff]")


class CannotJudge(Exception):
    """Raised by a scoring function that cannot judge: the platform records an error with this text, never a zero."""


class InvalidScore(ValueError):
    """Raised for a score that the protocol does not allow.

    code  wrong_type, number_not_finite, out_of_range, too_long, duplicate_dimension or invalid_text
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class InvalidRequest(ValueError):
    """Raised for a verified request whose body does not follow the protocol."""


@dataclass(frozen=True)
class Completion:
    """One completion to judge.

    messages       the chat before the response, or None; `prompt` is then its last user message
    system_prompt  of the task; None if it has none, or if the chat begins with its own system message
    """

    id: str
    task_id: str | None
    prompt: str
    response: str
    metadata: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] | None = None
    system_prompt: str | None = None

    @property
    def conversation(self) -> list[dict[str, Any]]:
        """Return the conversation before the response as chat messages: the system prompt, then the chat or prompt."""
        system = [] if self.system_prompt is None else [{"role": "system", "content": self.system_prompt}]
        chat = [{"role": "user", "content": self.prompt}] if self.messages is None else self.messages
        return system + chat


@dataclass(frozen=True)
class Options:
    """The parts of a score that are requested besides the value."""

    include_dimensions: bool = True
    include_explanation: bool = True


@dataclass(frozen=True)
class Dimension:
    """One aspect of a score; value and weight in 0..1. Weights of a score should sum to 1."""

    name: str
    value: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidScore("wrong_type", "a dimension's name must be text")
        if not 1 <= len(self.name) <= MAX_NAME:
            raise InvalidScore("too_long", f"a dimension's name must have 1 to {MAX_NAME} characters")
        _check_text(self.name, "a dimension's name")
        object.__setattr__(self, "value", _fraction(self.value, f"dimension {self.name!r}: value"))
        object.__setattr__(self, "weight", _fraction(self.weight, f"dimension {self.name!r}: weight"))


@dataclass(frozen=True)
class Score:
    """A judgement: value and confidence in 0..1, never clamped. Raises InvalidScore for anything else.

    dimensions  Dimension objects, or (name, value) or (name, value, weight); None if there are none
    reasoning   up to 65,536 characters
    """

    value: float
    confidence: float = 1.0
    dimensions: Iterable[Dimension | tuple[Any, ...]] | None = ()
    reasoning: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _fraction(self.value, "value"))
        object.__setattr__(self, "confidence", _fraction(self.confidence, "confidence"))
        if isinstance(self.dimensions, (str, bytes, Mapping)):
            raise InvalidScore("wrong_type", "dimensions must be a list")
        dimensions = tuple(d if isinstance(d, Dimension) else Dimension(*d) for d in self.dimensions or ())
        if len(dimensions) > MAX_DIMENSIONS:
            raise InvalidScore("too_long", f"more than {MAX_DIMENSIONS} dimensions")
        if len({d.name for d in dimensions}) != len(dimensions):
            raise InvalidScore("duplicate_dimension", "two dimensions have the same name")
        object.__setattr__(self, "dimensions", dimensions)
        if self.reasoning is not None:
            if not isinstance(self.reasoning, str):
                raise InvalidScore("wrong_type", "reasoning must be text")
            if len(self.reasoning) > MAX_REASONING:
                raise InvalidScore("too_long", f"reasoning of more than {MAX_REASONING:,} characters")
            _check_text(self.reasoning, "reasoning")

    def wire(self, options: Options) -> dict[str, Any]:
        """Return the score in the protocol's form, with the parts that `options` request."""
        out: dict[str, Any] = {"value": self.value, "confidence": self.confidence}
        dimensions = [d for d in self.dimensions or () if isinstance(d, Dimension)]
        if dimensions and options.include_dimensions:
            out["dimensions"] = [{"name": d.name, "value": d.value, "weight": d.weight} for d in dimensions]
        if self.reasoning is not None and options.include_explanation:
            out["reasoning"] = self.reasoning
        return out


@dataclass(frozen=True)
class Graded:
    """One item of a response, for the log: a value or an error."""

    completion_id: str
    request_id: str
    value: float | None
    error: str | None


def to_score(result: Any) -> Score:
    """Convert a scoring function's result to a Score: a Score, a number, or (value, confidence[, reasoning])."""
    if isinstance(result, Score):
        return result
    if isinstance(result, tuple):
        if not 1 <= len(result) <= 3:
            raise InvalidScore("wrong_type", "a tuple must be (value, confidence) or (value, confidence, reasoning)")
        value, confidence, reasoning = (*result, 1.0, None)[:3] if len(result) < 2 else (*result, None)[:3]
        return Score(value, confidence, reasoning=reasoning)
    return Score(result)


def to_error(text: str) -> str:
    """Clean an error's text for sending: never empty, no invalid characters, limited in length."""
    return BAD_TEXT.sub("\ufffd", text)[:MAX_ERROR] or "cannot judge"


def read_completion(data: Any) -> Completion:
    """Read the completion of a request. Raises InvalidRequest."""
    if not isinstance(data, dict):
        raise InvalidRequest("a completion must be an object")
    for name in ("id", "response"):
        if not isinstance(data.get(name), str):
            raise InvalidRequest(f"completion.{name} must be text")
    prompt, metadata, messages = data.get("prompt"), data.get("metadata"), data.get("messages")
    if prompt is not None and not isinstance(prompt, str):
        raise InvalidRequest("completion.prompt must be text")
    if metadata is not None and not isinstance(metadata, dict):
        raise InvalidRequest("completion.metadata must be an object")
    if messages is not None and not isinstance(messages, list):
        raise InvalidRequest("completion.messages must be a list")
    system_prompt = data.get("systemPrompt")
    if system_prompt is not None and not isinstance(system_prompt, str):
        raise InvalidRequest("completion.systemPrompt must be text")
    task_id = data.get("taskId")
    return Completion(
        data["id"],
        task_id if isinstance(task_id, str) else None,
        prompt or "",
        data["response"],
        metadata or {},
        messages,
        system_prompt,
    )


def read_options(data: Any) -> Options:
    """Read the options of a request; a missing option counts as requested."""
    if not isinstance(data, dict):
        return Options()
    return Options(data.get("includeDimensions") is not False, data.get("includeExplanation") is not False)


def _fraction(value: Any, name: str) -> float:
    """Check a number of 0..1 and return it as a float; bool counts as 0 or 1, as in Python."""
    if isinstance(value, (str, bytes)) or not isinstance(value, SupportsFloat):
        raise InvalidScore("wrong_type", f"{name} must be a number, not {type(value).__name__}")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidScore("wrong_type", f"{name} must be a number, not {type(value).__name__}") from None
    if not math.isfinite(number):
        raise InvalidScore("number_not_finite", f"{name} must be a number from 0 to 1, not {number}")
    if not 0 <= number <= 1:
        raise InvalidScore("out_of_range", f"{name} must be from 0 to 1, not {number!r}")
    return number or 0.0


def _check_text(text: str, name: str) -> None:
    if BAD_TEXT.search(text):
        raise InvalidScore("invalid_text", f"{name} contains U+0000 or a lone surrogate")
