"""What a scorer does with answers that have no reward: the values that replace rewards, and the errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, cast, get_args

from ..errors import AutotuneError, ConfigurationError
from ..models.rewards import LiveReward

Missing = float | Literal["raise"] | None
WithoutText = Literal["unscored", "empty", "strict"]

FAIL_AFTER: Final = 10_000  # consecutive answers without a reward, if a number replaces missing rewards


class TooManyUnscored(AutotuneError):
    """Too many answers in a row have no reward, so the training no longer learns. See `fail_after`.

    unscored  number of answers since the last reward
    codes     the same by error code
    """

    code = "too_many_unscored"

    def __init__(self, unscored: int, codes: Mapping[str, int], reasons: Mapping[str, str]) -> None:
        details = " ".join(f"{code}: {reason}" for code, reason in sorted(reasons.items()))
        super().__init__(
            f"the last {unscored} answers have no reward: {listed(codes)}. {details}{' ' if details else ''}"
            "Fix that, or raise fail_after (AUTOTUNE_REWARD_FAIL_AFTER); 0 never ends the training."
        )
        self.unscored, self.codes = unscored, dict(codes)


class MissingReward(AutotuneError):
    """An answer has no reward, and `missing` is 'raise'. `rewards` holds those of the whole call."""

    code = "missing_reward"

    def __init__(self, rewards: Sequence[LiveReward], codes: Mapping[str, int]) -> None:
        lost = sum(codes.values())
        super().__init__(f"{lost} of {len(rewards)} answers have no reward: {listed(codes)}")
        self.rewards = tuple(rewards)


def checked(missing: Missing, *, number: bool = False) -> Missing:
    """Return `missing`. Raises ConfigurationError for an infinite value, and for None if a number is required."""
    if missing == "raise" or (missing is None and not number):
        return missing
    if isinstance(missing, bool) or not isinstance(missing, (int, float)) or not math.isfinite(missing):
        allowed = "a finite number or 'raise'" if number else "None, a finite number or 'raise'"
        raise ConfigurationError(f"missing must be {allowed}, not {missing!r}")
    return float(missing)


def checked_policy(without_text: str) -> WithoutText:
    """Return `without_text`. Raises ConfigurationError for an unknown value."""
    if without_text not in get_args(WithoutText):
        raise ConfigurationError(
            f"without_text must be one of {', '.join(get_args(WithoutText))}, not {without_text!r}"
        )
    return cast(WithoutText, without_text)


def checked_limit(fail_after: int | None, missing: Missing) -> int:
    """Return `fail_after` or its default: no limit unless the training learns from a number for missing rewards."""
    if fail_after is None:
        return FAIL_AFTER if isinstance(missing, float) else 0
    if isinstance(fail_after, bool) or not isinstance(fail_after, int) or fail_after < 0:
        raise ConfigurationError(f"fail_after must be a whole number, 0 for never, not {fail_after!r}")
    return fail_after


def listed(codes: Mapping[str, int]) -> str:
    """Return the codes with their numbers, for a sentence: "3 pending, 1 timeout"."""
    return ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
