"""What happens when two do something with a task at the same time (PostgreSQL's locks and constraints decide)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from autotune.core.errors import Conflict
from graders.models import Grader
from tasks import definitions
from tasks.models import Completion, Task
from tests.conftest import Api
from tests.factories import ApiKeyFactory, CompletionFactory, GraderFactory, TaskFactory, public

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
PATIENCE_S = 10


@pytest.fixture
def together():
    """`together(f, g)`: both in threads of their own, each with its connection; their results in order."""

    def closing(work):
        try:
            return work()
        finally:
            connection.close()

    def run(*works):
        with ThreadPoolExecutor(len(works)) as pool:
            return [future.result(PATIENCE_S) for future in [pool.submit(closing, work) for work in works]]

    return run


@pytest.fixture
def key():
    return ApiKeyFactory()


def test_of_two_concurrent_tasks_with_one_name_one_is_created(together, key):
    grader = public("grader", GraderFactory(organization=key.organization))
    start = Barrier(2)

    def create():
        start.wait(PATIENCE_S)
        return Api(key.text).post("/tasks", {"name": "T", "promptTemplate": "x", "graderId": grader}).status_code

    assert sorted(together(create, create)) == [201, 409]
    assert Task.objects.count() == 1


def test_two_patches_both_count(together, key):
    task = TaskFactory(organization=key.organization)
    start = Barrier(2)

    def patch(change):
        start.wait(PATIENCE_S)
        return Api(key.text).patch(f"/tasks/{task.public_id}", change).status_code

    works = (lambda: patch({"retry": {"maxAttempts": 2}, "promptTemplate": "p"}), lambda: patch({"systemPrompt": "s"}))
    assert together(*works) == [200, 200]
    task = Task.objects.get()
    assert (task.max_attempts, task.version.content["promptTemplate"], task.version.content["systemPrompt"]) == (
        2,
        "p",
        "s",
    )


def test_a_grader_deleted_concurrently_does_not_enter_a_panel(together, key):
    grader = GraderFactory(organization=key.organization)
    task = TaskFactory(organization=key.organization)
    locked = Event()

    def retire():
        with transaction.atomic():
            row = Grader.objects.select_for_update().get(pk=grader.pk)
            locked.set()
            Event().wait(0.3)  # the other waits at the lock by then; if not, it sees the committed tombstone
            row.deleted_at = timezone.now()
            row.save(update_fields=["deleted_at"])

    def patch():
        locked.wait(PATIENCE_S)
        return Api(key.text).patch(f"/tasks/{task.public_id}", {"graderId": public("grader", grader)}).status_code

    assert together(retire, patch) == [None, 404]


@pytest.mark.parametrize("deletion_first", [True, False])
def test_a_task_with_a_concurrent_completion_is_never_deleted(together, deletion_first):
    task = TaskFactory()
    written, deleted = Event(), Event()

    def submit():
        try:
            with transaction.atomic():
                CompletionFactory(task=task)
                written.set()
                if deletion_first:
                    deleted.wait(PATIENCE_S)
        except IntegrityError:
            return "refused"
        return "taken"

    def delete():
        written.wait(PATIENCE_S)
        try:
            definitions.delete(Task.objects.get(pk=task.pk))
        except Conflict as refused:
            return refused.code
        finally:
            deleted.set()
        return "deleted"

    outcome = together(submit, delete)
    assert outcome in (
        [["refused", "deleted"]] if deletion_first else [["taken", "has_completions"], ["refused", "deleted"]]
    )
    assert Task.objects.count() == Completion.objects.count() == (outcome[0] == "taken")
