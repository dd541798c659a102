"""Frozen dataclasses of the API's responses about live rewards, reward endpoints and preference pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from .scores import FINAL_STATUSES, WaitingFor


@dataclass(frozen=True)
class LiveReward:
    """The result of one item when the time is up. A reward that does not exist is None, never a zero.

    status       'completed', 'failed' (`code` says why) or 'pending' (it is still being scored)
    waiting_for  why a pending one has no score yet
    """

    value: float | None
    confidence: float | None
    completion_id: str | None
    status: str
    code: str | None
    waiting_for: WaitingFor | None = None

    @property
    def final(self) -> bool:
        """Return whether it is final: waiting will not change it."""
        return self.status in FINAL_STATUSES


@dataclass(frozen=True)
class EndpointCounts:
    """The number of samples answered with a reward so far, and of those among them without a score.

    without_text  samples that were not scored because they had no text, whatever the response was
    """

    answered: int
    unscored: int
    without_text: int = 0


@dataclass(frozen=True)
class RewardEndpoint:
    """An address that a trainer calls for rewards of one task.

    protocol      'openrlhf', 'slime', 'verify' or 'foundry'
    unscored      what it returns for work without a score: 'hold', 'neutral' or 'error'
    without_text  how it treats an answer without text: 'unscored', 'empty' or 'strict'
    """

    id: str
    task_id: str
    protocol: str
    model_id: str
    unscored: str
    neutral_value: float | None
    deadline_ms: int
    enabled: bool
    counts: EndpointCounts
    last_used_at: datetime | None
    created_by: str
    created_at: datetime
    updated_at: datetime
    without_text: str = "unscored"


@dataclass(frozen=True)
class RewardEndpointRegistration:
    """A reward endpoint with its address, which holds the token, is shown once, and is left out of repr.

    None in a response that was repeated for an idempotency key.
    """

    reward_endpoint: RewardEndpoint
    url: str | None = field(repr=False)


@dataclass(frozen=True)
class PreferencePair:
    """Two responses to one prompt, the better one first: text, or lists of messages if requested."""

    prompt: str | list[dict[str, str]]
    chosen: str | list[dict[str, str]]
    rejected: str | list[dict[str, str]]
    chosen_score: float
    rejected_score: float

    @property
    def margin(self) -> float:
        """Return the difference between the two rewards."""
        return self.chosen_score - self.rejected_score


@dataclass(frozen=True)
class PreferencePairs:
    """A sample of pairs, and the number of pairs it was drawn from.

    left_out  rewarded completions whose conversation does not fit into a pair; by reason in `left_out_by_reason`
    """

    pairs: tuple[PreferencePair, ...]
    available: int | None
    left_out: int | None = None
    left_out_by_reason: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[PreferencePair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)
