"""What a reward endpoint answers where a score is missing: the one place of that rule.

A reward that nobody gave must never look like one: a stand-in is a number that the endpoint's maker chose, and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from autotune.core.errors import AutotuneError
from scores.live.protocols.samples import Outcome
from scores.models import RewardEndpoint
from scores.states import Protocol, Unscored

PENDING: Final = "pending"
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
    """A sample by now: its reward, or the code of why there is none."""

    value: float | None
    code: str | None = None


def outcomes(endpoint: RewardEndpoint, states: Sequence[State]) -> list[Outcome]:
    """What is answered for each sample, by the endpoint's policy.

    raises  StillPending, or Unscorable with the failure's code: then nothing else is answered for the call
    """
    missing = [state.code or PENDING for state in states if state.value is None]
    if missing and endpoint.protocol != Protocol.VERIFY:
        _refuse(endpoint, missing)
    stand_in = 0.0 if endpoint.neutral_value is None else endpoint.neutral_value
    return [
        Outcome(stand_in, state.code or PENDING) if state.value is None else Outcome(state.value) for state in states
    ]


def _refuse(endpoint: RewardEndpoint, missing: Sequence[str]) -> None:
    """raises  where the policy is not to answer a stand-in"""
    if endpoint.unscored == Unscored.NEUTRAL:
        return
    if PENDING in missing:
        raise StillPending
    detail = f"{missing[0]}: the answer of the model could not be scored."
    if endpoint.unscored == Unscored.ERROR:
        raise Unscorable(detail, code=missing[0])
    if endpoint.neutral_value is None:
        failed = Unscorable(detail, code=missing[0], headers={"Retry-After": str(FAILED_AGAIN_S)})
        failed.status = 503
        raise failed
