"""The admin pages of runs, scores and rewards: few queries, read-only, no text in a list."""

import pytest
from django.urls import reverse

from scores.models import Reward, Score, WorkflowRun
from tests.factories import SECRET, CompletionFactory, RunFactory, ScoreFactory, TaskFactory, UserFactory

MODELS = (WorkflowRun, Score, Reward)
TEXT = "a reason that no list shows"


@pytest.fixture
def rows(db):
    task = TaskFactory(metadata={"sort": TEXT})
    scores = [
        ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task, prompt=TEXT)), reasoning=TEXT)
        for _ in range(50)
    ]
    return scores


@pytest.fixture
def superuser(client, db):
    client.force_login(UserFactory(is_staff=True, is_superuser=True))
    return client


def page(model, instance=None):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    return reverse(f"{name}_change", args=[instance.pk]) if instance else reverse(f"{name}_changelist")


@pytest.mark.parametrize("model", MODELS)
def test_a_list_of_50_rows_takes_at_most_15_queries_and_shows_no_text(
    superuser, rows, model, django_assert_max_num_queries
):
    with django_assert_max_num_queries(15):
        answer = superuser.get(page(model))
    assert answer.status_code == 200
    assert answer.content.count(b"<tr>") > 50
    assert TEXT.encode() not in answer.content


@pytest.mark.parametrize("model", MODELS)
def test_a_form_takes_few_queries_and_cannot_be_sent(superuser, rows, model, django_assert_max_num_queries):
    instance = model.objects.first()
    with django_assert_max_num_queries(15 + 5):  # the event is the first of its chain, whose key is made
        answer = superuser.get(page(model, instance))
    assert answer.status_code == 200
    assert SECRET.encode() not in answer.content
    assert superuser.post(page(model, instance), {"value": "1"}).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_a_public_id_finds_its_row(superuser, rows, model):
    score = rows[7]
    instance = {WorkflowRun: score.run, Score: score, Reward: score.completion}[model]
    answer = superuser.get(page(model), {"q": instance.public_id})
    assert instance.public_id.encode() in answer.content
    assert answer.context["cl"].result_count == 1
