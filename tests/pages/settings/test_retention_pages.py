"""Days, legal holds and erasures on their pages."""

from datetime import UTC, datetime

import pytest

from autotune.core import ids
from scores.models import Erasure, LegalHold
from tests.factories import (
    CompletionFactory,
    ErasureFactory,
    LegalHoldFactory,
    OrganizationFactory,
    TaskFactory,
    public,
)

from .conftest import HOSTILE

pytestmark = pytest.mark.django_db
HOME = "/settings/retention"
HOLDS, NEW_HOLD = f"{HOME}/holds", f"{HOME}/holds/new"
ERASURES, NEW_ERASURE = f"{HOME}/erasures", f"{HOME}/erasures/new"


def days_of(client):
    client.organization.refresh_from_db()
    return client.organization.text_days, client.organization.score_days


def long_ago(task):
    return CompletionFactory(task=task, id=ids.first_of(datetime(2024, 1, 1, tzinfo=UTC)))


def test_shorter_days_are_saved_only_after_showing_what_will_be_erased(visitor):
    client = visitor()
    long_ago(TaskFactory(organization=client.organization))
    CompletionFactory(task__organization=client.organization)
    confirmation = client.post(HOME, {"text_days": "90", "score_days": ""})
    body = confirmation.content.decode()
    assert "Nothing is saved yet." in body
    assert "<strong>1</strong> completion submitted before" in body
    assert 'value="90"' in body
    assert days_of(client) == (None, None)
    assert client.post(HOME, {"text_days": "90", "score_days": "", "confirmed": "yes"})["Location"] == HOME
    assert days_of(client) == (90, None)


def test_the_preview_excludes_tasks_with_their_own_days_and_other_organizations(visitor):
    client = visitor()
    long_ago(TaskFactory(organization=client.organization, text_days=9_000))
    CompletionFactory(id=ids.first_of(datetime(2024, 1, 2, tzinfo=UTC)))
    assert "<strong>0</strong> completions" in client.post(HOME, {"text_days": "90"}).content.decode()


def test_longer_days_are_saved_at_once(visitor):
    client = visitor(organization=OrganizationFactory(text_days=30, score_days=60))
    assert client.post(HOME, {"text_days": "", "score_days": "400"}).status_code == 302
    assert days_of(client) == (None, 400)


@pytest.mark.parametrize("days", ["0", "-1", "40000", "x"])
def test_invalid_days_are_refused(visitor, days):
    client = visitor()
    assert client.post(HOME, {"text_days": days, "confirmed": "yes"}).status_code == 400
    assert days_of(client) == (None, None)


def test_a_hold_is_placed_and_released(visitor):
    client = visitor()
    task = TaskFactory(organization=client.organization)
    answer = client.post(NEW_HOLD, {"what": "taskId", "which": public("task", task), "reason": "Case 12"})
    hold = LegalHold.objects.get()
    assert (answer["Location"], hold.task_id, hold.reason) == (f"{HOLDS}/{hold.public_id}", task.pk, "Case 12")
    assert "Case 12" in client.get(HOME).content.decode()
    client.post(f"{HOLDS}/{hold.public_id}")
    hold.refresh_from_db()
    assert hold.released_by == client.user
    assert "Case 12" not in client.get(HOME).content.decode()
    assert "Case 12" in client.get(HOLDS).content.decode()


def test_a_hold_on_everything_names_no_object(visitor):
    client = visitor()
    assert client.post(NEW_HOLD, {"what": "", "which": "x", "reason": "all"}).status_code == 400
    assert client.post(NEW_HOLD, {"what": "", "which": "", "reason": "all"}).status_code == 302
    hold = LegalHold.objects.get()
    assert (hold.organization, hold.task_id, hold.completion_id, hold.model_id) == (client.organization, None, None, "")


def test_a_task_of_another_organization_is_neither_held_nor_erased(visitor):
    client, task = visitor(), TaskFactory()
    name = public("task", task)
    held = client.post(NEW_HOLD, {"what": "taskId", "which": name, "reason": "x"})
    erased = client.post(NEW_ERASURE, {"what": "taskId", "which": name, "again": name})
    assert (held.status_code, erased.status_code) == (400, 400)
    assert "There is no such task." in held.content.decode()
    assert f'value="{name}"' in held.content.decode()
    assert (LegalHold.objects.count(), Erasure.objects.count()) == (0, 0)


def test_an_erasure_requires_typing_its_name_twice(visitor):
    client = visitor()
    wrong = client.post(NEW_ERASURE, {"what": "modelId", "which": "model-a", "again": "model-b"})
    assert "This differs from the value above. Nothing was erased." in wrong.content.decode()
    assert not Erasure.objects.exists()
    assert client.post(NEW_ERASURE, {"what": "modelId", "which": "model-a", "again": "model-a"})["Location"] == ERASURES
    erasure = Erasure.objects.get()
    assert (erasure.model_id, erasure.created_by, erasure.organization) == ("model-a", client.user, client.organization)


def test_a_held_completion_is_not_erased_and_the_form_says_why(visitor):
    client = visitor()
    completion = CompletionFactory(task__organization=client.organization)
    LegalHoldFactory(organization=client.organization)
    name = public("comp", completion)
    answer = client.post(NEW_ERASURE, {"what": "completionId", "which": name, "again": name})
    assert "A legal hold covers this completion" in answer.content.decode()
    assert not Erasure.objects.exists()


def test_progress_is_shown(visitor):
    client = visitor()
    ErasureFactory(organization=client.organization, created_by=client.user, status="running", erased=1_204, held=7)
    for path in (HOME, ERASURES):
        body = client.get(path).content.decode()
        assert ("running" in body, "1,204" in body, ">7<" in body) == (True, True, True)


def test_nothing_of_another_organization_is_shown_or_released(visitor):
    client = visitor()
    hold = LegalHoldFactory(reason="only theirs")
    ErasureFactory(model_id="their-model")
    seen = "".join(client.get(path).content.decode() for path in (HOME, HOLDS, ERASURES))
    assert ("only theirs" in seen, "their-model" in seen) == (False, False)
    assert client.get(f"{HOLDS}/{hold.public_id}").status_code == 404
    assert client.post(f"{HOLDS}/{hold.public_id}").status_code == 404
    hold.refresh_from_db()
    assert hold.released_at is None


def test_a_read_only_role_sees_no_forms(visitor, role_of):
    organization = OrganizationFactory(text_days=30)
    client = visitor(role_of(organization, retention=("organization", "read")), organization)
    hold = LegalHoldFactory(organization=organization)
    body = "".join(client.get(path).content.decode() for path in (HOME, HOLDS, ERASURES, f"{HOLDS}/{hold.public_id}"))
    assert "30 days" in body
    for word in ("Save the days", "Place a hold", "Erase text", "Yes, release"):
        assert word not in body
    for path in (HOME, NEW_HOLD, NEW_ERASURE, f"{HOLDS}/{hold.public_id}"):
        assert client.post(path, {"text_days": "1"}).status_code == 403


def test_hostile_texts_are_text(visitor):
    client = visitor()
    LegalHoldFactory(organization=client.organization, created_by=client.user, reason=HOSTILE)
    ErasureFactory(organization=client.organization, created_by=client.user, model_id=HOSTILE)
    for path in (HOME, HOLDS, ERASURES):
        assert "<script>alert" not in client.get(path).content.decode()
