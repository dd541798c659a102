"""An organization that has been at work: many scores over some days, with failures, counters and reviews."""

import random
from datetime import timedelta

from django.utils import timezone

from autotune.core import ids
from graders.models import GraderStatistic
from graders.statistics import latencies
from scores.models import Reward, Score, WorkflowRun
from tasks.models import Completion
from tests.factories import GraderFactory, TaskFactory

MODELS = ("qwen3-32b-sft", "qwen3-32b-dpo-2", "llama-4-scout", "our-model-rc7")
CODES = ("grader_timeout", "missing_member", "auth_failed", "invalid_request")


def work(organization, user, *, scores=1_000, failed=12, days=1.0, text="What is the capital of Norway? " * 8, seed=7):
    """Graders, tasks, scores (spread over the days until now) and failed runs; returns (graders, tasks)."""
    chance = random.Random(seed)
    names = ("Rubric judge", "Unit tests", "Citation checker")
    common = {"organization": organization, "created_by": user}
    graders = [GraderFactory(name=f"{name} {ids.new().hex[-4:]}", **common) for name in names]
    tasks = [
        TaskFactory(name=f"{name} {ids.new().hex[-4:]}", graders=[grader], **common)
        for name, grader in zip(("GSM8K answers", "Code review", "Legal summaries"), graders, strict=True)
    ]
    now = timezone.now()
    panels = [(task, grader) for task, grader in zip(tasks, graders, strict=True)]
    rows = [
        _chain(organization, user, *chance.choice(panels), now - timedelta(days=days) * chance.random(), chance, text)
        for _ in range(scores + failed)
    ]
    for number, (_, run, _, _) in enumerate(rows[scores:]):
        run.status, run.error_code = "failed", CODES[number % len(CODES) if number % 3 else 0]
    Completion.objects.bulk_create([row[0] for row in rows], batch_size=2_000)
    WorkflowRun.objects.bulk_create([row[1] for row in rows], batch_size=2_000)
    Score.objects.bulk_create([row[2] for row in rows[:scores]], batch_size=2_000)
    Reward.objects.bulk_create([row[3] for row in rows[:scores]], batch_size=2_000)
    _count(graders, rows[:scores], rows[scores:], chance)
    return graders, tasks


def _chain(organization, user, task, grader, moment, chance, text):
    common = {"organization_id": organization.pk, "task_id": task.pk}
    model = chance.choice(MODELS)
    completion = Completion(
        id=_id(moment), **common, task_version_id=task.version_id, created_by_id=user.pk, model_id=model, prompt=text,
        response=None, created_at=moment,
    )  # fmt: skip
    value = min(1.0, max(0.0, chance.gauss(0.45 + 0.1 * MODELS.index(model), 0.15)))
    run = WorkflowRun(
        id=_id(moment), **common, completion=completion, grader_id=grader.pk, panel_size=1, status="completed", attempt=1,
        deadline_at=moment + timedelta(days=1), created_at=moment, started_at=moment, completed_at=moment + timedelta(seconds=2),
    )  # fmt: skip
    score = Score(
        id=_id(moment), **common, run=run, completion=completion, grader_id=grader.pk, grader_version_id=grader.version_id,
        value=value, confidence=0.8, raw_value=value, created_at=moment,
    )  # fmt: skip
    reward = Reward(
        completion=completion, **common, value=value, confidence=0.8, aggregation="mean", used=1, failed=0, scored_at=moment
    )  # fmt: skip
    return completion, run, score, reward


def _id(moment):
    """An id as if made then."""
    return type(ids.new())(int=ids.first_of(moment).int | ids.new().int & (1 << 80) - 1)


def _count(graders, scored, failed, chance):
    rows = {}
    for _, run, score, _ in [*scored, *failed]:
        start = run.completed_at.replace(second=0, microsecond=0)
        start -= timedelta(minutes=start.minute % 5)
        row = rows.setdefault((run.grader_id, start), {"n": 0, "sum": 0.0, "errors": {}, "ms": []})
        if run.status == "failed":
            row["errors"][run.error_code] = row["errors"].get(run.error_code, 0) + 1
        else:
            row["n"] += 1
            row["sum"] += score.value
            row["ms"].append(chance.lognormvariate(6.5, 0.6))
    GraderStatistic.objects.bulk_create(
        GraderStatistic(
            grader_id=pk, start=start, scored=row["n"], value_sum=row["sum"], histogram=[row["n"], *[0] * 9],
            latency_sum_ms=sum(row["ms"]), latencies=latencies.counted(row["ms"]), errors=row["errors"],
        )
        for (pk, start), row in rows.items()
    )  # fmt: skip
