"""What waits for graders, as their pages ask it of the app below."""

from datetime import timedelta

from django.utils import timezone

from graders import queued_runs
from tasks.states import Priority
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory


def test_pending_runs_are_counted_with_the_age_of_the_oldest_of_any_priority(db):
    grader = GraderFactory()
    completion = CompletionFactory(task=TaskFactory(organization=grader.organization, graders=[grader]))
    old, now = timezone.now() - timedelta(hours=1), timezone.now()
    RunFactory(completion=completion, created_at=old, priority=min(Priority.values))
    RunFactory(completion=completion, created_at=now, priority=max(Priority.values))
    RunFactory(completion=completion, created_at=old - timedelta(hours=1), status="completed")
    assert queued_runs.of([grader.pk]) == {grader.pk: queued_runs.QueuedRuns(2, old)}


def test_all_graders_take_three_queries_at_most(db, django_assert_max_num_queries):
    graders = GraderFactory.create_batch(3)
    for grader in graders[:2]:
        completion = CompletionFactory(task=TaskFactory(organization=grader.organization, graders=[grader]))
        RunFactory(completion=completion)
    with django_assert_max_num_queries(3):
        queued = queued_runs.of([grader.pk for grader in graders])
    assert [queued[grader.pk].waiting for grader in graders] == [1, 1, 0]
