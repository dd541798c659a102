"""Add many scores in a few statements."""

from datetime import UTC, datetime

from autotune.core import ids
from scores.models import Reward, Score, WorkflowRun
from tasks.models import Completion


def add_scores(task, values, *, models=("model-a",), created_at=None, source="api", held_out=False, **fields):
    """Add a score of the task's first grader for each value, with run, completion and reward; models take turns."""
    origin = {"source": source, "held_out": held_out}
    grader = task.version.members.select_related("grader").first().grader
    shared = {"organization_id": task.organization_id, "task": task}
    times = {} if created_at is None else {"created_at": created_at}
    completions = [
        Completion(
            task_version=task.version, created_by=task.created_by, model_id=models[n % len(models)], **shared, **times,
            **origin,
        )
        for n in range(len(values))
    ]  # fmt: skip
    Completion.objects.bulk_create(completions)
    runs = [
        WorkflowRun(
            completion=completion, grader=grader, panel_size=1, status="completed", attempt=1, deadline_at=datetime(2030, 1, 1, tzinfo=UTC),
            **shared,
        )
        for completion in completions
    ]  # fmt: skip
    WorkflowRun.objects.bulk_create(runs)
    scores = [
        Score(
            id=ids.new(), run=run, completion=run.completion, grader=grader, grader_version_id=grader.version_id,
            value=value, raw_value=value, **{"confidence": value, **shared, **times, **origin, **fields},
        )
        for run, value in zip(runs, values, strict=True)
    ]  # fmt: skip
    Score.objects.bulk_create(scores)
    scored_at = {} if created_at is None else {"scored_at": created_at}
    Reward.objects.bulk_create(
        Reward(
            completion=score.completion, value=score.value, confidence=score.confidence, aggregation="mean", used=1,
            failed=0, **shared, **scored_at, **origin,
        )
        for score in scores
    )  # fmt: skip
    return scores
