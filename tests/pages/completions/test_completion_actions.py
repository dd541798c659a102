"""Scoring again and erasing: for who may, after a word; a refusal changes nothing."""

import pytest
from django.urls import reverse

from autotune.access.models import AuditEvent
from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import LegalHoldFactory, RunFactory, ScoreFactory, public

pytestmark = pytest.mark.django_db


@pytest.fixture
def completion():
    return ScoreFactory().completion


def there(name, completion):
    return reverse(f"completion_{name}", args=[completion.pk])


def test_an_operator_rescores_it(visitor, completion):
    client = visitor("training_operator", completion.organization)
    assert "Existing scores stay" in client.get(there("rescore", completion)).content.decode()
    answer = client.post(there("rescore", completion))
    assert answer.status_code == 302
    assert WorkflowRun.objects.filter(completion=completion, generation=1).count() == 1


def test_a_completion_that_is_being_scored_cannot_be_rescored(visitor):
    run = RunFactory()
    answer = visitor("training_operator", run.organization).post(there("rescore", run.completion))
    assert answer.status_code == 409
    assert "still being scored" in answer.content.decode()
    assert WorkflowRun.objects.count() == 1


def test_a_reviewer_can_neither_rescore_nor_erase(visitor, completion):
    client = visitor("reviewer", completion.organization)
    for name in ("rescore", "erase"):
        assert client.get(there(name, completion)).status_code == 403
        assert client.post(there(name, completion), {"typed": "erase"}).status_code == 403
    assert Completion.objects.get().prompt is not None


def test_an_administrator_erases_it_with_the_word_typed(visitor, completion):
    client = visitor("organization_admin", completion.organization)
    refused = client.post(there("erase", completion), {"typed": "yes"})
    assert refused.status_code == 400
    assert 'value="yes"' in refused.content.decode()
    assert Completion.objects.get().prompt is not None
    assert client.post(there("erase", completion), {"typed": "Erase "}).status_code == 302
    assert Completion.objects.get().prompt is None


def test_under_a_legal_hold_nothing_is_erased(visitor, completion):
    LegalHoldFactory(organization=completion.organization)
    answer = visitor("organization_admin", completion.organization).post(there("erase", completion), {"typed": "erase"})
    assert answer.status_code == 400
    assert "hold" in answer.content.decode()
    assert Completion.objects.get().prompt is not None


def test_another_organization_finds_nothing_to_erase(visitor, completion):
    client = visitor("organization_admin")
    for name in ("rescore", "erase"):
        assert client.post(there(name, completion), {"typed": "erase"}).status_code == 404


@pytest.mark.parametrize(
    ("name", "typed", "action"),
    [("rescore", "", "create"), ("erase", "erase", "delete"), ("erase", "no", "delete")],
)
def test_the_audit_log_uses_the_action_names_of_the_api(visitor, completion, name, typed, action):
    visitor("organization_admin", completion.organization).post(there(name, completion), {"typed": typed})
    event = AuditEvent.objects.get(method="POST")
    assert (event.action, event.resource) == (f"completions.{action}", "completions")
    assert event.object_id == public("comp", completion)
    assert event.outcome == ("refused" if typed == "no" else "succeeded")


def test_a_refused_erasure_is_recorded(visitor, completion):
    client = visitor("organization_admin")
    assert client.post(there("erase", completion), {"typed": "erase"}).status_code == 404
    event = AuditEvent.objects.get(method="POST")
    assert (event.action, event.outcome) == ("completions.delete", "refused")
