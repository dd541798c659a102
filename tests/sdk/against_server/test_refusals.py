"""Refusals through the client: each is the error class and the pointer that it documents."""

import pytest
from autotune_sdk import AuthenticationError, AutotuneClient, ConflictError, InvalidRequest, NotFound, PermissionDenied

from graders.models import Grader
from tests.factories import ApiKeyFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)
NOWHERE = "task_00000000000000000000000000"


def test_an_unknown_key_is_an_authentication_error(live_server, key):
    with (
        AutotuneClient(key.text[:-1] + ("1" if key.text.endswith("0") else "0"), live_server.url) as stranger,
        pytest.raises(AuthenticationError) as refused,
    ):
        stranger.tasks.list()
    assert (refused.value.status, bool(refused.value.request_id)) == (401, True)


def test_a_role_without_the_action_is_denied(live_server, client, task):
    reviewer = ApiKeyFactory(role="reviewer", organization=Grader.objects.get().organization)
    with AutotuneClient(reviewer.text, live_server.url) as weak:
        assert weak.tasks.get(task.id).id == task.id
        with pytest.raises(PermissionDenied):
            weak.completions.submit(task_id=task.id, model_id="m", prompt="p", response="r")


def test_another_organizations_objects_are_not_found(live_server, client, task):
    other = RunFactory()
    with AutotuneClient(ApiKeyFactory().text, live_server.url) as stranger:
        for ask in (
            lambda: stranger.tasks.get(task.id),
            lambda: stranger.completions.submit(task_id=task.id, model_id="m", prompt="p", response="r"),
            lambda: stranger.completions.score(other.completion.public_id),
            lambda: stranger.scores.summary(task_id=task.id),
        ):
            with pytest.raises(NotFound):
                ask()


def test_refusals_name_the_member_or_the_parameter(client, task):
    for ask, pointer in (
        (lambda: client.completions.list(sort="secret"), "?sort"),
        (lambda: client.completions.list(status="lost"), "?status"),
        (lambda: client.completions.list(limit=0), "?limit"),
        (lambda: client.completions.list(start_date="yesterday"), "?startDate"),
        (lambda: client.scores.list(min_score=2), "?minScore"),
        (lambda: client.tasks.create(name="", prompt_template="x", grader_id=task.grader_id), "/name"),
        (lambda: client.tasks.update(task.id, aggregation="mode"), "/aggregation"),
        (lambda: client.completions.submit(task_id=task.id, model_id="", prompt="p", response="r"), "/modelId"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            ask()
        assert (refused.value.status, refused.value.errors[0].pointer) == (400, pointer)
    with pytest.raises(NotFound):
        client.completions.submit(task_id=NOWHERE, model_id="m", prompt="p", response="r")
    with pytest.raises(ConflictError) as taken:
        client.tasks.create(name="Lengths", prompt_template="x", grader_id=task.grader_id)
    assert taken.value.code == "name_taken"
