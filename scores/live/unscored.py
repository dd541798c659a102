"""What a reward endpoint answers where a score is missing: the one place of that rule.

A reward that nobody gave must never look like one: a stand-in is a number that the endpoint's maker chose, and counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from autotune.core.errors import AutotuneError
from autotune.core.pages import sentences
from scores.live.protocols.samples import Outcome, Sample
from scores.models import RewardEndpoint
from scores.states import Protocol, Unscored, WithoutText

PENDING: Final = "pending"
NO_TEXT: Final = "no_text"
_NO_TEXT_REASON: Final = "The answer of the model holds no text."
_BLANK_REASON: Final = "The answer of the model is empty."
FAILED_AGAIN_S: Final = 60  # a failure is scored anew after so long


class StillPending(AutotuneError):
    """The deadline came first. The work goes on, and the same call asked again joins it."""

    status, code, title = 503, "pending", "Not scored yet"

    def __init__(self, detail: str = "Not all is scored yet; the work goes on. Send the same again.") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class TooManyWaiting(AutotuneError):
    """This process has no room for another call that waits."""

    status, code, title = 503, "too_many_waiting", "Too many calls wait"

    def __init__(self, *, closes: bool = False) -> None:
        headers = {"Retry-After": "1", **({"Connection": "close"} if closes else {})}
        super().__init__("Too many calls wait here already. Send the same again.", headers=headers)


class Unscorable(AutotuneError):
    """The work failed, and the endpoint has no stand-in for it."""

    status, title = 502, "Not scored"


@dataclass(frozen=True, slots=True)
class State:
    """The current state of a sample: its reward, or the code of the failure, and the reason if one adds detail."""

    value: float | None
    code: str | None = None
    reason: str = ""


def refuse_without_text(endpoint: RewardEndpoint, samples: Iterable[Sample]) -> None:
    """Mark the samples that graders must not judge because their answer holds no text.

    Autotune judges unreadable answers as empty text only if the endpoint is configured to.
    """
    if endpoint.without_text == WithoutText.EMPTY:
        return
    for sample in samples:
        blank = endpoint.without_text == WithoutText.STRICT and not sample.response.strip()
        if not sample.refused and (blank or not sample.has_text):
            sample.refused, sample.reason = NO_TEXT, _BLANK_REASON if sample.has_text else _NO_TEXT_REASON


def outcomes(endpoint: RewardEndpoint, states: Sequence[State]) -> list[Outcome]:
    """What is answered for each sample, by the endpoint's policy.

    raises  StillPending, or Unscorable with the failure's code: then nothing else is answered for the call
    """
    missing = [state for state in states if state.value is None]
    if missing and endpoint.protocol != Protocol.VERIFY:
        _refuse(endpoint, missing)
    stand_in = 0.0 if endpoint.neutral_value is None else endpoint.neutral_value
    return [
        Outcome(stand_in, state.code or PENDING, state.reason) if state.value is None else Outcome(state.value)
        for state in states
    ]


def _refuse(endpoint: RewardEndpoint, missing: Sequence[State]) -> None:
    """raises  where the policy is not to answer a stand-in"""
    if endpoint.unscored == Unscored.NEUTRAL:
        return
    if any((state.code or PENDING) == PENDING for state in missing):
        raise StillPending
    code = missing[0].code
    detail = sentences.joined(f"{code}: the answer of the model could not be scored", missing[0].reason)
    if endpoint.unscored == Unscored.ERROR:
        raise Unscorable(detail, code=code)
    if endpoint.neutral_value is None:
        failed = Unscorable(detail, code=code, headers={"Retry-After": str(FAILED_AGAIN_S)})
        failed.status = 503
        raise failed
