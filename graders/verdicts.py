"""What a grader judges, and its judgement: items, options, verdicts and failures.

Every kind of grader uses these types, whatever carries them: signed HTTP calls, or processes of this server. The module
imports nothing of the server, so the processes that judge can import it.
"""

from math import isfinite
from typing import Any, Literal

from msgspec import Struct

Fault = Literal["grader", "caller", "platform"]


class GraderItem(Struct, frozen=True):
    """One completion as a grader sees it: plain text, `messages` as JSON objects and `metadata` as a JSON object.

    system_prompt  the task's; None if the task has none, or the conversation has its own system message
    """

    completion_id: str
    task_id: str
    prompt: str
    response: str
    messages: list[Any] | None = None
    metadata: dict[str, Any] | None = None
    system_prompt: str | None = None


class GraderOptions(Struct, frozen=True):
    include_dimensions: bool = True
    include_explanation: bool = True


class Dimension(Struct, frozen=True):
    name: str
    value: float
    weight: float


class Verdict(Struct, frozen=True):
    """A grader's judgement of one completion. Value and confidence are from 0 to 1.

    raw_value  on the grader version's scale, a finite number; None if it follows from `value`
    details    what a hosted grader records beside its reasoning: JSON
    raises     ValueError for a raw value that is not finite
    """

    value: float
    confidence: float
    dimensions: tuple[Dimension, ...] | None = None
    reasoning: str | None = None
    warnings: tuple[str, ...] = ()
    raw_value: float | None = None
    details: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.raw_value is not None and not isfinite(self.raw_value):
            raise ValueError(f"The raw value {self.raw_value} must be a finite number.")


class Failure(Struct, frozen=True):
    """Why there is no verdict, in a code and a sentence that a grader owner can act on.

    retryable      another attempt may help
    limit          how many attempts of one run may end with this code; None: the task's retry policy decides
    retry_after_s  the wait that the grader asked for, 1 to 300 seconds
    split          send the items again in halves (413 to several items)
    resign         repeat the call once, immediately, signed with the current secret
    gone           a signed 410: the grader wants no more calls
    trips          counts as a failure for the circuit breaker
    fault          who is responsible
    """

    code: str
    message: str
    retryable: bool = False
    limit: int | None = None
    retry_after_s: float | None = None
    split: bool = False
    resign: bool = False
    gone: bool = False
    trips: bool = True
    fault: Fault = "grader"


class Acceptance(Struct, frozen=True):
    """The answer comes later: the grader will call back (a signed 202), or a model call ends later."""
