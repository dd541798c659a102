"""Create the scorers of adapters that a framework loads by name, with settings from the environment.

AUTOTUNE_TASK_ID, AUTOTUNE_MODEL_ID    the task, and the name of the model in training
AUTOTUNE_REWARD_DEADLINE_S             seconds after which a call ends
AUTOTUNE_REWARD_MISSING                a number, or `raise`: the value of an answer without a reward
AUTOTUNE_REWARD_WITHOUT_TEXT           unscored, empty or strict: how to treat an answer without text
AUTOTUNE_REWARD_FAIL_AFTER             answers in a row without a reward, after which the training ends; 0: never
AUTOTUNE_REWARD_METADATA               names of what is sent to graders as metadata, separated by commas
"""

from __future__ import annotations

import os
import threading

from ..errors import ConfigurationError
from .scoring import Missing, Scorer, WithoutText, checked, checked_policy

_lock = threading.Lock()
_scorers: dict[tuple[object, ...], Scorer] = {}


def scorer(
    default_deadline_s: float,
    default_missing: Missing,
    *,
    task_id: str | None = None,
    model_id: str | None = None,
    deadline_s: float | None = None,
    missing: Missing = None,
    fresh: bool = False,
    without_text: WithoutText | None = None,
    fail_after: int | None = None,
) -> Scorer:
    """Return the scorer of these settings, one in each process. Arguments come first, then the environment, then the
    adapter's defaults. None of the frameworks supports a missing reward, so it must be a number, or 'raise'.

    raises  ConfigurationError for invalid settings
    """
    deadline = deadline_s if deadline_s is not None else _number("AUTOTUNE_REWARD_DEADLINE_S", default_deadline_s)
    stated = checked(missing if missing is not None else _missing(default_missing), number=True)
    task, model = task_id or os.environ.get("AUTOTUNE_TASK_ID"), model_id or os.environ.get("AUTOTUNE_MODEL_ID")
    policy = checked_policy(without_text or os.environ.get("AUTOTUNE_REWARD_WITHOUT_TEXT", "").strip() or "unscored")
    limit = _limit() if fail_after is None else fail_after
    key = (os.getpid(), task, model, deadline, stated, fresh, policy, limit)
    with _lock:
        if key not in _scorers:
            _scorers[key] = Scorer(
                task, model_id=model, deadline_s=deadline, missing=stated, fresh=fresh, without_text=policy,
                fail_after=limit,
            )  # fmt: skip
        return _scorers[key]


def names(default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names in AUTOTUNE_REWARD_METADATA, or the default."""
    setting = os.environ.get("AUTOTUNE_REWARD_METADATA")
    return default if setting is None else tuple(name.strip() for name in setting.split(",") if name.strip())


def _missing(default: Missing) -> Missing:
    name = "AUTOTUNE_REWARD_MISSING"
    text = os.environ.get(name, "").strip().lower()
    if not text:
        return default
    return "raise" if text == "raise" else _number(name, 0.0)


def _limit() -> int | None:
    name = "AUTOTUNE_REWARD_FAIL_AFTER"
    text = os.environ.get(name, "").strip()
    try:
        return int(text) if text else None
    except ValueError:
        raise ConfigurationError(f"{name} is not a whole number: {text!r}") from None


def _number(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    try:
        return float(text) if text else default
    except ValueError:
        raise ConfigurationError(f"{name} is not a number: {text!r}") from None
