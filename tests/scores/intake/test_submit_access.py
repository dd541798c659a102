"""Who may submit to which task, and in which state a task takes nothing."""

import pytest
from django.utils import timezone

from autotune.access.keys import tokens
from graders.states import GraderStatus
from tasks import definitions
from tests.factories import ApiKeyFactory, GraderFactory, OrganizationFactory, TaskFactory, public
from tests.scores.submitting import OTHER_TASK, item, problems, rows

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.mark.parametrize("role", ["training_operator", "organization_admin", "admin"])
def test_roles_that_may_submit(api_for, role):
    api = api_for(role=role)
    assert api.post("/completions", item(TaskFactory(organization=api.organization))).status_code == 202


@pytest.mark.parametrize("role", ["grader_owner", "reviewer"])
@pytest.mark.parametrize("path", ["/completions", "/completions/batch"])
def test_a_role_without_the_action_is_refused_before_the_body_is_read(api_for, role, path):
    api = api_for(role=role)
    assert problems(api.post(path, raw=b"no json"), 403) == []
    assert problems(api.post(path, item(TaskFactory(organization=api.organization))), 403) == []
    assert rows() == (0, 0)


@pytest.mark.parametrize("path", ["/completions", "/completions/batch"])
def test_without_a_key_nothing_is_read(api, task, path):
    api.key = None
    assert problems(api.post(path, raw=b"no json"), 401) == []
    assert problems(api.post(path, item(task)), 401) == []
    assert rows() == (0, 0)


def test_a_key_that_was_revoked_is_refused_at_the_next_request(api, task):
    assert api.post("/completions", item(task)).status_code == 202
    tokens.revoke(api.api_key)
    assert api.post("/completions", item(task)).status_code == 401
    assert rows() == (1, 1)


def test_a_task_of_another_organization_does_not_exist(api):
    foreign = TaskFactory(organization=OrganizationFactory())
    answers = [api.post("/completions", item(foreign, taskId=text)) for text in (public("task", foreign), OTHER_TASK)]
    for answer in answers:
        assert problems(answer, 404) == [("/taskId", "not_found")]
    first, second = ({**answer.json(), "requestId": None} for answer in answers)
    assert first == second
    assert rows() == (0, 0)


def test_an_admin_of_the_operating_organization_submits_to_any_task(admin_api):
    foreign = TaskFactory(organization=OrganizationFactory())
    body = admin_api.post("/completions", item(foreign, externalId="x")).json()
    owner = ApiKeyFactory(organization=foreign.organization)
    admin_api.key = owner.text
    assert admin_api.get(f"/completions/{body['completion']['id']}").status_code == 200


def test_a_deleted_task_does_not_exist(api, task):
    gone = item(task)
    definitions.delete(task)
    assert problems(api.post("/completions", gone), 404) == [("/taskId", "not_found")]


def test_an_archived_task_refuses_submissions(api, task):
    task.archived = True
    task.save()
    answer = api.post("/completions", item(task))
    assert problems(answer, 409) == [("/taskId", "task_archived")]
    assert answer.json()["code"] == "task_archived"
    assert rows() == (0, 0)


def test_a_task_with_an_inactive_scoring_grader_refuses_submissions(api, task):
    grader = task.version.members.get().grader
    grader.status = GraderStatus.INACTIVE
    grader.save()
    answer = api.post("/completions", item(task))
    assert problems(answer, 409) == [("/taskId", "grader_inactive")]
    assert answer.json()["code"] == "grader_inactive"
    assert public("grader", grader) in answer.json()["detail"]
    assert rows() == (0, 0)


def test_one_inactive_scoring_grader_of_a_panel_stops_submissions(api):
    graders = [GraderFactory(organization=api.organization, status=status) for status in ("active", "inactive")]
    task = TaskFactory(organization=api.organization, graders=graders)
    assert problems(api.post("/completions", item(task)), 409) == [("/taskId", "grader_inactive")]


def test_an_inactive_shadow_grader_does_not_stop_submissions(api):
    graders = [GraderFactory(organization=api.organization, status=status) for status in ("active", "inactive")]
    panel = [graders[0], (graders[1], 1.0, "shadow")]
    task = TaskFactory(organization=api.organization, graders=panel)
    assert api.post("/completions", item(task)).status_code == 202
    assert rows() == (1, 2)


def test_a_task_with_a_degraded_grader_accepts_submissions(api):
    grader = GraderFactory(organization=api.organization, status=GraderStatus.DEGRADED)
    answer = api.post("/completions", item(TaskFactory(organization=api.organization, graders=[grader])))
    assert (answer.status_code, answer.json()["completion"]["status"]) == (202, "pending")


def test_a_task_with_a_deleted_grader_refuses_submissions(api, task):
    grader = task.version.members.get().grader
    grader.deleted_at = timezone.now()
    grader.save()
    assert problems(api.post("/completions", item(task)), 409) == [("/taskId", "grader_inactive")]


def test_a_test_key_sends_nothing_to_graders_of_other_organizations(api_for, api, task):
    listed = GraderFactory(visibility="listed")
    judged_outside = TaskFactory(organization=api.organization, graders=[(listed, 1.0, "scoring")])
    shadowed = TaskFactory(
        organization=api.organization, graders=[GraderFactory(organization=api.organization), (listed, 1.0, "shadow")]
    )
    test = api_for(role="training_operator", organization=api.organization, kind="test")
    for outside in (judged_outside, shadowed):
        assert problems(test.post("/completions", item(outside)), 403) == [("/taskId", "forbidden")]
        batch = {"completions": [item(task), item(outside)]}
        assert problems(test.post("/completions/batch", batch)) == [("/completions/1/taskId", "forbidden")]
    assert rows() == (0, 0)
    assert test.post("/completions", item(task)).status_code == 202
    assert api.post("/completions", item(judged_outside)).status_code == 202


def test_a_session_needs_the_csrf_token(api, task, client):
    client.force_login(api.user)
    strict = type(client)(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    answer = strict.post("/api/v1/completions", item(task), content_type="application/json")
    assert answer.status_code == 403
    assert rows() == (0, 0)
