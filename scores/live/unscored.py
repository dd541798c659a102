"""Decide what a reward endpoint answers if a score is missing.

A missing score must never look like a score: a stand-in is a number that the endpoint's creator chose, and is counted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from autotune.core.errors import AutotuneError
from autotune.core.pages import sentences
from scores.live.protocols.samples import SampleOutcome, TrainerSample
from scores.models import RewardEndpoint
from scores.states import RewardProtocol, TextlessPolicy, UnscoredPolicy

PENDING: Final = "pending"
NO_TEXT: Final = "no_text"
_NO_TEXT_REASON: Final = "The answer of the model holds no text."
_BLANK_REASON: Final = "The answer of the model is empty."
FAILED_AGAIN_S: Final = 60  # seconds after which a failed item is scored again


class StillPending(AutotuneError):
    """The deadline passed before all samples were scored. Scoring continues, and a repeated call joins it."""

    status, code, title = 503, "pending", "Not scored yet"

    def __init__(self, detail: str = "Not all is scored yet; scoring continues. Send the same request again.") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class TooManyWaiting(AutotuneError):
    """This process has no room for another call that waits."""

    status, code, title = 503, "too_many_waiting", "Too many calls wait"

    def __init__(self, *, closes: bool = False) -> None:
        headers = {"Retry-After": "1", **({"Connection": "close"} if closes else {})}
        super().__init__("Too many calls are waiting. Send the same request again.", headers=headers)


class Unscorable(AutotuneError):
    """Scoring failed, and the endpoint has no stand-in."""

    status, title = 502, "Not scored"


@dataclass(frozen=True, slots=True)
class SampleState:
    """The current state of a sample: its reward, or the code of the failure, and the reason if one adds detail."""

    value: float | None
    code: str | None = None
    reason: str = ""


def refuse_without_text(endpoint: RewardEndpoint, samples: Iterable[TrainerSample]) -> None:
    """Mark the samples that graders must not judge because their answer holds no text.

    Autotune judges unreadable answers as empty text only if the endpoint is configured to.
    """
    if endpoint.without_text == TextlessPolicy.EMPTY:
        return
    for sample in samples:
        blank = endpoint.without_text == TextlessPolicy.STRICT and not sample.response.strip()
        if not sample.refused and (blank or not sample.has_text):
            sample.refused, sample.reason = NO_TEXT, _BLANK_REASON if sample.has_text else _NO_TEXT_REASON


def outcomes(endpoint: RewardEndpoint, states: Sequence[SampleState]) -> list[SampleOutcome]:
    """Return the answer for each sample, by the endpoint's policy.

    raises  StillPending, or Unscorable with the failure's code: then nothing else is answered for the call
    """
    missing = [state for state in states if state.value is None]
    if missing and endpoint.protocol != RewardProtocol.VERIFY:
        _refuse(endpoint, missing)
    stand_in = 0.0 if endpoint.neutral_value is None else endpoint.neutral_value
    return [
        SampleOutcome(stand_in, state.code or PENDING, state.reason)
        if state.value is None
        else SampleOutcome(state.value)
        for state in states
    ]


def _refuse(endpoint: RewardEndpoint, missing: Sequence[SampleState]) -> None:
    """raises  StillPending or Unscorable if the policy does not allow a stand-in"""
    if endpoint.unscored == UnscoredPolicy.NEUTRAL:
        return
    if any((state.code or PENDING) == PENDING for state in missing):
        raise StillPending
    code = missing[0].code
    detail = sentences.joined(f"{code}: the answer of the model could not be scored", missing[0].reason)
    if endpoint.unscored == UnscoredPolicy.ERROR:
        raise Unscorable(detail, code=code)
    if endpoint.neutral_value is None:
        failed = Unscorable(detail, code=code, headers={"Retry-After": str(FAILED_AGAIN_S)})
        failed.status = 503
        raise failed
