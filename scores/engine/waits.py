"""The table of waits: what a waiting run waits for, who ends the wait, for how long it lasts, and how it expires.

SQL, the sweep, and the texts of the API and the pages are made from this table. No wait counts towards the task's
deadline: a run that continues after its wait has as much time left as before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.conf import settings

from scores.states import WaitingReason, WaitKind

MODEL_FOR: Final = timedelta(days=3)  # providers return batches within a day, or not at all


@dataclass(frozen=True, slots=True)
class WaitRule:
    """The rule for one kind of wait.

    code          error code of a run whose wait expires; '' if the wait has no time limit of its own
    message       why the run failed, in a sentence
    limit         how long the wait lasts; None without a limit of its own
    takes_answer  whether an answer to the run's attempt ends the wait; otherwise such an answer is dropped
    retries       whether a failure in this answer may lead to another attempt
    reason        the reason that the API names
    detail        the reason as a sentence
    ended_by      the words of the pages: what the run waits for
    """

    code: str
    message: str
    limit: Callable[[], timedelta] | None
    takes_answer: bool
    retries: bool
    reason: WaitingReason
    detail: str
    ended_by: str


WAITS: Final[Mapping[WaitKind, WaitRule]] = {
    WaitKind.CALLBACK: WaitRule(
        "callback_expired",
        "The grader accepted the completion with 202, but its callback did not arrive in time.",
        lambda: timedelta(seconds=settings.CALLBACK_DEADLINE_S),
        takes_answer=True,
        retries=False,
        reason=WaitingReason.CALLBACK,
        detail="The grader accepted the completion and answers later. The run fails if no answer comes.",
        ended_by="the grader’s callback",
    ),
    WaitKind.MODEL: WaitRule(
        "model_expired",
        "The model call that judges the completion did not end in time.",
        lambda: MODEL_FOR,
        takes_answer=True,
        retries=True,
        reason=WaitingReason.MODEL,
        detail="A model judges the completion. The run fails if its call does not end in time.",
        ended_by="a model’s answer",
    ),
    WaitKind.REVIEW: WaitRule(
        "review_expired",
        "Nobody decided on the grader's preliminary score in time.",
        lambda: timedelta(days=settings.REVIEW_DAYS),
        takes_answer=False,
        retries=False,
        reason=WaitingReason.REVIEW,
        detail="A reviewer must decide on the grader's score. The run fails if nobody does.",
        ended_by="a reviewer",
    ),
    WaitKind.REUSE: WaitRule(
        "",
        "",
        None,
        takes_answer=False,
        retries=False,
        reason=WaitingReason.REUSE,
        detail="An equal answer of another model is being judged. This one gets a copy of its score.",
        ended_by="the score of an equal answer of another model, to copy it",
    ),
}
ANSWERABLE: Final = tuple(name.value for name, rule in WAITS.items() if rule.takes_answer)
UNANSWERABLE: Final = tuple(name.value for name, rule in WAITS.items() if not rule.takes_answer)
RETRIED: Final = tuple(name.value for name, rule in WAITS.items() if rule.retries)


def limit(waits_for: WaitKind) -> timedelta:
    """How long a wait that expires lasts."""
    rule_limit = WAITS[waits_for].limit
    assert rule_limit is not None
    return rule_limit()


def answerable(*, alias: str = "r") -> str:
    """The SQL condition for runs that an answer to their attempt can still complete."""
    return f"{alias}.waits_for not in ({_listed(UNANSWERABLE)})"


def failable(*, alias: str = "r") -> str:
    """The SQL condition for runs that their attempt may fail: it is running, or they wait for its answer."""
    return f"({alias}.status = 'running' or {alias}.waits_for in ({_listed(ANSWERABLE)}))"


def retriable(*, alias: str = "r") -> str:
    """The SQL condition for runs whose attempt may be followed by another one after a failure."""
    return f"({alias}.status = 'running' or {alias}.waits_for in ({_listed(RETRIED)}))"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)
