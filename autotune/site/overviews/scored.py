"""Chart an organization's scores over time: how many there are, and their means by task and by model."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, F, QuerySet, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Substr

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.charts import Chart, Series, columns, lines
from autotune.site.overviews import newest
from autotune.site.overviews.periods import OverviewPeriod
from autotune.site.overviews.sums import Sums, over_time
from graders.statistics.folding import floor_to
from scores.models import Score, WorkflowRun
from scores.results import model_colours
from tasks.models import Task

SCORED, NUMBER, VALUE = "scored", "number", "value"
TASK, MODEL = 1, 2  # their positions in a key
SHOWN = 5  # lines of a chart; the pages of scores show the rest
Scored = dict[datetime, Sums]


def read(principal: Principal, period: OverviewPeriod, now: datetime) -> Scored:
    """Return {step: {(what, task, model): amount}} of the scores that the principal may read."""
    scores = Score.objects.for_readers().visible_to(principal)
    scope = f"{policy.reach(principal, 'scores', 'read')} {principal.organization.pk} {principal.user.pk}"

    def fetch(since: datetime) -> dict[datetime, Sums]:
        steps = [(begin, begin + period.step) for begin in period.steps(now) if begin >= since]
        sums_by_step: dict[datetime, Sums] = {}
        for step, task, model, number, value in newest.by_step(scores, steps):
            sums = sums_by_step.setdefault(step, {})
            if task is None:
                sums[SCORED, None, None] = number
            else:
                sums[NUMBER, task, model], sums[VALUE, task, model] = number, value or 0.0
        return sums_by_step

    return over_time("scores", scope, period, now, fetch, grain=period.step)


def failed(principal: Principal, period: OverviewPeriod, now: datetime) -> dict[datetime, int]:
    """Return how many runs failed in each step and have not been retried since."""
    runs = still_failed(principal, period.since(now))
    text = Substr(Cast(F("completed_at"), TextField()), 1, period.digits)  # functions that both databases have natively
    counts: dict[datetime, int] = {}
    for prefix, number in runs.annotate(at=text).values_list("at").annotate(n=Count("pk")).order_by():
        step = floor_to(period.step, moment(prefix))
        counts[step] = counts.get(step, 0) + number
    return counts


def still_failed(principal: Principal, since: datetime) -> QuerySet[WorkflowRun]:
    """Return the failed runs that ended since then."""
    return with_status(WorkflowRun.objects.visible_to(principal), "failed").filter(completed_at__gte=since)


def with_status(runs: Any, status: str) -> Any:
    """Return the runs of a status. SQLite uses a partial index only if the statement has the status as a literal."""
    return runs.filter(status=RawSQL(f"'{status}'", ()))  # noqa: S611 - a constant of ours


def moment(text: str) -> datetime:
    """Return the moment that the beginning of a timestamp names: `2026-11-28 15:4` is 15:40."""
    return datetime.fromisoformat(text + "0000-00-00 00:00"[len(text) :]).replace(tzinfo=UTC)


def throughput(
    scored: dict[datetime, int], failed: dict[datetime, int], period: OverviewPeriod, now: datetime
) -> Chart:
    """Chart what was scored and what failed, stacked."""
    stacks = [(step, (scored.get(step, 0), failed.get(step, 0))) for step in period.steps(now)]
    return columns(
        "Scored and failed", stacks, ("Scored", "Failed"), tones=("good", "bad"), axis="Workflow runs",
        since=period.since(now),
        empty="Nothing was scored and nothing failed in this time.",
    )  # fmt: skip


def numbers(scored: Scored) -> dict[datetime, int]:
    """Return how many scores each step has."""
    return {step: int(sums.get((SCORED, None, None), 0)) for step, sums in scored.items()}


def sampled(scored: Scored) -> bool:
    """Return whether a step has more scores than its means cover."""
    return any(number > newest.NEWEST for number in numbers(scored).values())


def by_model(scored: Scored, principal: Principal, period: OverviewPeriod, now: datetime) -> Chart:
    """Chart the mean score of the models with the most scores."""
    models = _most(scored, MODEL)
    slots = model_colours.slots(principal.organization.pk, models) if models else {}
    return _means("Mean score by model", scored, MODEL, str, period, now, slots)


def by_task(scored: Scored, principal: Principal, period: OverviewPeriod, now: datetime) -> Chart:
    """Chart the mean score of the tasks with the most scores."""
    most = _most(scored, TASK)
    tasks = Task.objects.visible_to(principal).filter(pk__in=most).values_list("pk", "name") if most else ()
    names: dict[Any, str] = dict(tasks)
    return _means(
        "Mean score by task", scored, TASK, lambda pk: names.get(pk) or "a task of another organization", period, now
    )


def _most(scored: Scored, place: int) -> list[Any]:
    counts: dict[Any, float] = {}
    for sums in scored.values():
        for key, amount in sums.items():
            if key[0] == NUMBER:
                counts[key[place]] = counts.get(key[place], 0) + amount
    return sorted(counts, key=lambda subject: (-counts[subject], str(subject)))[:SHOWN]


def _means(
    title: str, scored: Scored, place: int, label: Callable[[Any], str], period: OverviewPeriod, now: datetime,
    slots: dict[Any, int] | None = None,
) -> Chart:  # fmt: skip
    series = []
    for subject in _most(scored, place):
        points = [(step, _mean(scored.get(step, {}), place, subject)) for step in period.steps(now)]
        series.append(Series(label(subject), points, (slots or {}).get(subject)))
    return lines(
        title, series, since=period.since(now), until=now, axis="Mean score", unit="score", low=0, high=1, wide=False,
        empty="No scores in this time.",
    )  # fmt: skip


def _mean(sums: Sums, place: int, subject: Any) -> float | None:
    number = sum(amount for key, amount in sums.items() if key[0] == NUMBER and key[place] == subject)
    value = sum(amount for key, amount in sums.items() if key[0] == VALUE and key[place] == subject)
    return value / number if number else None
