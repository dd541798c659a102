"""A completion with a damaged ciphertext fails by itself; without the master key nothing fails and everything waits."""

import pytest

from autotune.core.crypto import encryption
from autotune.core.models import DataKey
from scores.models import Score, WorkflowRun
from tasks.models import Completion
from tests.factories import CompletionFactory, RunFactory


def test_a_damaged_text_fails_its_own_run_and_no_other(task, grader, drain):
    good, bad = (RunFactory(completion=CompletionFactory(task=task)) for _ in range(2))
    stored = Completion.objects.values_list("response", flat=True).get(pk=good.completion_id)
    Completion.objects.filter(pk=bad.completion_id).update(response=stored)  # another row's ciphertext
    drain(grader)
    assert dict(WorkflowRun.objects.values_list("pk", "status")) == {good.pk: "completed", bad.pk: "failed"}
    assert WorkflowRun.objects.get(pk=bad.pk).error_code == "text_unreadable"
    assert Score.objects.get().run_id == good.pk


def test_without_the_master_key_no_run_fails(task, grader, drain):
    run = RunFactory(completion=CompletionFactory(task=task))
    encryption.keyring.clear()
    secret_keys = DataKey.objects.filter(scope=task.organization_id)
    kept = list(secret_keys.values_list("pk", "wrapping_key"))
    secret_keys.update(wrapping_key="lost")
    with pytest.raises(encryption.MasterKeyMissing):
        drain(grader)
    for pk, name in kept:
        DataKey.objects.filter(pk=pk).update(wrapping_key=name)
    run.refresh_from_db()
    assert run.status in ("pending", "running")
    WorkflowRun.objects.update(status="pending")
    drain(grader)
    assert Score.objects.get().run_id == run.pk
