"""Migrate live answers from before they belonged to a model: each gets the model of its completion."""

from importlib import import_module

import pytest
from django.db import connection

from autotune.core import ids
from scores.models import LiveAnswer
from tests.factories import CompletionFactory

pytestmark = pytest.mark.django_db
MIGRATION = import_module("scores.migrations.0010_answers_by_model")


def run(*statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def answer(completion_id, completion, number=1, **members):
    owners = {"organization": completion.organization, "task_version": completion.task_version}
    digest = bytes([number]) * 32
    return LiveAnswer.objects.create(**owners, completion_id=completion_id, answer_digest=digest, **members)


def test_each_gets_the_model_of_its_completion_and_is_no_copy():
    completion = CompletionFactory(model_id="step-7")
    answer(completion.pk, completion)
    run(MIGRATION.MODELS, MIGRATION.ORPHANS)
    assert LiveAnswer.objects.values_list("model_id", "replaces").get() == ("step-7", completion.pk)


def test_an_answer_of_a_deleted_completion_is_deleted():
    completion = CompletionFactory()
    answer(ids.new(), completion)
    run(MIGRATION.MODELS, MIGRATION.ORPHANS)
    assert not LiveAnswer.objects.exists()


def test_the_reverse_migration_keeps_one_answer_of_each_content_that_is_no_copy():
    completion, other = CompletionFactory(), CompletionFactory()
    answer(completion.pk, completion, model_id="A", replaces=ids.new())
    newest = answer(completion.pk, completion, model_id="B", replaces=ids.new())
    answer(completion.pk, completion, model_id="C")
    single = answer(other.pk, other, number=2, model_id="A", replaces=ids.new())
    run(MIGRATION.COPIES, MIGRATION.OTHERS)
    assert set(LiveAnswer.objects.values_list("pk", flat=True)) == {newest.pk, single.pk}
