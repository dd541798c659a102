"""A task's `metadata` is an object, never null; a prompt template has text."""

import pytest

from tasks.models import Task
from tests.factories import GraderFactory, public

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for()


@pytest.fixture
def body(api):
    return {
        "name": "T",
        "promptTemplate": "{{q}}",
        "graderId": public("grader", GraderFactory(organization=api.organization)),
    }


@pytest.mark.parametrize("members", [{}, {"metadata": None}, {"metadata": {}}])
def test_a_task_without_metadata_has_an_empty_object(api, body, members):
    assert api.post("/tasks", body | members).json()["task"]["metadata"] == {}


def test_null_empties_it(api, body):
    task = api.post("/tasks", body | {"metadata": {"a": 1}}).json()["task"]
    assert api.patch(f"/tasks/{task['id']}", {"metadata": None}).json()["task"]["metadata"] == {}
    assert Task.objects.get().metadata == {}


def test_the_column_takes_no_null(db):
    assert not Task._meta.get_field("metadata").null


@pytest.mark.parametrize("template", ["", " ", "\n\t", "\u00a0"])
def test_a_prompt_template_needs_text(api, body, template):
    answer = api.post("/tasks", body | {"promptTemplate": template})
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/promptTemplate"]
    task = api.post("/tasks", body).json()["task"]
    assert api.patch(f"/tasks/{task['id']}", {"promptTemplate": template}).status_code == 400
