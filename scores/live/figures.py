"""Recent figures of a reward endpoint: the completions of its model and task, and how long their rewards took.

An endpoint stores only totals (counting.py). Its completions are those of its model in its task, including those that
were submitted another way.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from autotune.access.principal import Principal
from autotune.core import clock, ids
from scores.models import RewardEndpoint
from tasks.models import Completion

SPAN: Final = timedelta(hours=24)
MOST: Final = 5_000  # completions that are read, the newest
NAMES: Final = ("rewarded", "failed", "not scored yet")


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """The figures of the last SPAN.

    hours            (beginning, completions by NAMES)
    median_ms, p95_ms  from submission to reward; None without any
    cut              there were more than MOST
    """

    since: datetime
    until: datetime
    hours: list[tuple[datetime, tuple[int, int, int]]]
    total: int
    median_ms: float | None
    p95_ms: float | None
    cut: bool


def lately(endpoint: RewardEndpoint, principal: Principal) -> LiveFigures:
    """Return the figures over the completions that the principal may see; one query."""
    now = clock.database_now()
    since = (now - SPAN).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    completions = (
        Completion.objects.for_readers()
        .visible_to(principal)
        .filter(task_id=endpoint.task_id, model_id=endpoint.model_id, pk__gte=ids.first_of(since))
    )
    rows = list(completions.order_by("-pk").values_list("created_at", "reward__scored_at", "reward__value")[:MOST])
    hours: Counter[tuple[datetime, int]] = Counter()
    waits = []
    for created, scored, value in rows:
        kind = 2 if scored is None else 1 if value is None else 0
        hours[created.replace(minute=0, second=0, microsecond=0), kind] += 1
        if kind == 0:
            waits.append(max(0.0, (scored - created).total_seconds() * 1000))
    waits.sort()
    stacks = [(hour, tuple(hours[hour, kind] for kind in range(3))) for hour in sorted({hour for hour, _ in hours})]
    return LiveFigures(
        since=since,
        until=now,
        hours=stacks,  # type: ignore[arg-type]
        total=len(rows),
        median_ms=_at(waits, 0.5),
        p95_ms=_at(waits, 0.95),
        cut=len(rows) == MOST,
    )


def _at(waits: list[float], share: float) -> float | None:
    return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else None
