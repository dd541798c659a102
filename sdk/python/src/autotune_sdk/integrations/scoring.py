"""The scorer that all reward adapters share: a deadline, a value for missing rewards, and metrics of each call.

A trainer must get a result in time, or the run hangs; and an answer without a reward must not silently look like a bad
answer. So a `Scorer` always returns by its deadline, uses the value `missing` for unscored answers, and counts them: in
the metrics of the call, and in a warning.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from .. import _wire
from .._transport import is_passing
from ..client import AutotuneClient
from ..errors import AutotuneError, ConfigurationError, InvalidRequest, UnsendableValue
from ..models.rewards import LiveReward
from ._answers import NO_TEXT, Refusal
from ._call_metrics import CallMetrics, Scored, Totals
from ._missing_rewards import (
    FAIL_AFTER,
    Missing,
    MissingReward,
    TooManyUnscored,
    WithoutText,
    checked,
    checked_limit,
    checked_policy,
    listed,
)

__all__ = [
    "DEADLINE_S", "FAIL_AFTER", "CallMetrics", "Item", "Missing", "MissingReward", "Scored", "Scorer",
    "TooManyUnscored", "Totals", "WithoutText", "checked", "checked_limit", "checked_policy",
]  # fmt: skip

Item = Mapping[str, Any] | Refusal

DEADLINE_S: Final = 120.0
THREADS: Final = 32  # calls that wait at once for the asynchronous adapters
WARN_EVERY_S: Final = 10.0
GRADER_INACTIVE: Final = "grader_inactive"  # 409: nothing is scored until its owner switches it on again

log = logging.getLogger("autotune_sdk.integrations")
_counting = threading.Lock()  # in the module: scorers are pickled between processes, and locks cannot be


class Scorer:
    """Scores answers of one task. May be used by several threads, pickled, and used after a fork.

    task_id       default: AUTOTUNE_TASK_ID
    client        default: created from AUTOTUNE_API_KEY and AUTOTUNE_BASE_URL
    model_id      name of the model in training; default: AUTOTUNE_MODEL_ID, else the server's
    deadline_s    a call ends after this many seconds, whatever the server does
    missing       value of an answer without a reward: None, a number, or 'raise' (MissingReward)
    fresh         score again what was scored before
    on_call       called with the CallMetrics of each call
    without_text  an answer without text is 'unscored' (no_text), or scored as an 'empty' text; 'strict' also leaves
                  an answer of only spaces unscored
    fail_after    raise TooManyUnscored after this many answers in a row without a reward; 0: never. Default: 10,000
                  if a number replaces missing rewards, else never
    raises        ConfigurationError without a task, or with an invalid setting
    """

    def __init__(
        self,
        task_id: str | None = None,
        *,
        client: AutotuneClient | None = None,
        model_id: str | None = None,
        deadline_s: float = DEADLINE_S,
        missing: Missing = None,
        fresh: bool = False,
        on_call: Callable[[CallMetrics], None] | None = None,
        without_text: WithoutText = "unscored",
        fail_after: int | None = None,
    ) -> None:
        task = task_id or os.environ.get("AUTOTUNE_TASK_ID")
        if not task:
            raise ConfigurationError("no task: pass task_id or set AUTOTUNE_TASK_ID")
        self.task_id, self.model_id = task, model_id or os.environ.get("AUTOTUNE_MODEL_ID") or None
        self.deadline_s, self.missing, self.fresh, self.on_call = deadline_s, checked(missing), fresh, on_call
        self.without_text = checked_policy(without_text)
        self.fail_after = checked_limit(fail_after, self.missing)
        self.totals = Totals()
        self._unscored_run: Counter[str] = Counter()  # since the last reward, by code
        self._client = client
        self._base_url = client.base_url if client else None
        self._pool: ThreadPoolExecutor | None = None
        self._pid = os.getpid()
        self._warned = -math.inf

    def __getstate__(self) -> dict[str, Any]:
        """The copy has no key: it creates its own client for the same server, with the key of the environment."""
        return {**self.__dict__, "_client": None, "_pool": None, "on_call": None}

    @property
    def client(self) -> AutotuneClient:
        """Return the client, created on first use."""
        if self._client is None:
            self._client = AutotuneClient(base_url=self._base_url)
        return self._client

    def score(self, items: Sequence[Item]) -> Scored:
        """Score the `prompt` or `messages`, `response` and `metadata` of each; wait until all are final or time is up.

        An item that cannot be sent, or that the server rejects, is unscored, with the error's code; the others are
        scored.
        raises  MissingReward if `missing` says so; TooManyUnscored; APIError for errors that waiting does not fix: no
                permission, no such task
        """
        return self._scored(items, time.monotonic())

    async def score_async(self, items: Sequence[Item]) -> Scored:
        """Do the same as `score` in one of the scorer's own threads, so that it does not use the trainer's pools.

        The time counts from here on: a call that gets no thread before its deadline is unscored, with `timeout`.
        """
        began = time.monotonic()
        return await asyncio.get_running_loop().run_in_executor(self.pool, self._scored, items, began)

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Return the threads of this process that wait for asynchronous callers."""
        if self._pool is None or self._pid != os.getpid():  # a parent's threads do not exist after a fork
            self._pool, self._pid = ThreadPoolExecutor(THREADS, thread_name_prefix="autotune"), os.getpid()
        return self._pool

    def value(self, reward: LiveReward) -> float | None:
        """Return the value that the trainer gets for a reward. Raises MissingReward."""
        if reward.value is not None:
            return reward.value
        if self.missing == "raise":
            raise MissingReward([reward], {reward.code or reward.status: 1})
        return self.missing

    def _scored(self, items: Sequence[Item], began: float) -> Scored:
        """Run one call. began: when it started (time.monotonic)."""
        reasons: dict[str, str] = {}
        rewards = self._rewards(items, began + self.deadline_s, reasons)
        return self._summarized(rewards, time.monotonic() - began, reasons)

    def _rewards(self, rows: Sequence[Item], until: float, reasons: dict[str, str]) -> list[LiveReward]:
        """Request the rewards; adds to `reasons` a sentence for each code of a refusal."""
        results: list[LiveReward | None] = []
        items: list[Mapping[str, Any]] = []
        for row in rows:
            item, refusal = self._readable(row)
            items.append(item)
            results.append(None if refusal is None else _unscored(refusal.code, "failed"))
            if refusal is not None:
                reasons.setdefault(refusal.code, refusal.reason)
        while (open_ := [at for at, result in enumerate(results) if result is None]) and time.monotonic() < until:
            try:
                rewards = self.client.rewards(
                    [items[index] for index in open_],
                    task_id=self.task_id,
                    model_id=self.model_id,
                    deadline_s=until - time.monotonic(),
                    fresh=self.fresh,
                )
            except InvalidRequest as exc:
                refused = {e.index: e for e in exc.errors if e.index is not None and e.index < len(open_)}
                if not refused:
                    raise
                for position, error in refused.items():
                    results[open_[position]] = _unscored(error.code or exc.code, "failed")
                    reasons.setdefault(error.code or exc.code, f"{error.pointer}: {error.detail}")
            except AutotuneError as exc:
                if not is_passing(exc) and exc.code != GRADER_INACTIVE:
                    raise
                log.warning("no rewards: %s", exc.detail)
                reasons.setdefault(exc.code, exc.detail)
                rewards = [_unscored(exc.code)] * len(open_)
                results = _filled(results, open_, rewards)
            else:
                results = _filled(results, open_, rewards)
        return [result or _unscored("timeout") for result in results]

    def _readable(self, row: Item) -> tuple[Mapping[str, Any], Refusal | None]:
        """Return the item to score, and the refusal if it is not sent."""
        if isinstance(row, Refusal):
            if row.item is None or self.without_text != "empty":
                return {}, row
            row = row.item
        if self.without_text == "strict" and not str(row.get("response") or "").strip():
            return {}, Refusal(NO_TEXT, "The answer of the model is empty.")
        try:
            _wire.dumps(row)
        except UnsendableValue as exc:
            return {}, Refusal("unsendable_value", exc.detail)
        return row, None

    def _summarized(self, rewards: list[LiveReward], seconds: float, reasons: Mapping[str, str]) -> Scored:
        values = [reward.value for reward in rewards if reward.value is not None]
        codes = Counter(reward.code or reward.status for reward in rewards if reward.value is None)
        mean = sum(values) / len(values) if values else None
        metrics = CallMetrics(len(rewards), len(values), seconds, mean, dict(codes), dict(reasons))
        with _counting:
            self.totals.add(metrics)
            for reward in rewards:
                if reward.value is None:
                    self._unscored_run[reward.code or reward.status] += 1
                else:
                    self._unscored_run.clear()
            unscored = self._unscored_run.copy()
        if self.on_call:
            self.on_call(metrics)
        if codes and time.monotonic() - self._warned >= WARN_EVERY_S:
            self._warned = time.monotonic()
            consequence = "raised for" if self.missing == "raise" else f"given as {self.missing}"
            log.warning(
                "%d of %d answers have no reward (%s), %s%s",
                metrics.unscored, len(rewards), listed(codes), consequence,
                "".join(f"; {code}: {reason}" for code, reason in sorted(reasons.items())),
            )  # fmt: skip
        if self.fail_after and unscored.total() >= self.fail_after:
            log.error("%d answers in a row have no reward (%s)", unscored.total(), listed(unscored))
            raise TooManyUnscored(unscored.total(), unscored, reasons)
        if codes and self.missing == "raise":
            raise MissingReward(rewards, codes)
        return Scored([self.value(reward) for reward in rewards], rewards, metrics)


def _filled(
    results: list[LiveReward | None], places: Sequence[int], rewards: Sequence[LiveReward]
) -> list[LiveReward | None]:
    by_place = dict(zip(places, rewards, strict=True))
    return [by_place.get(at, result) for at, result in enumerate(results)]


def _unscored(code: str, status: str = "pending") -> LiveReward:
    return LiveReward(None, None, None, status, code)
