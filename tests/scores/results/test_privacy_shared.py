"""`shareText`: owners of a task's graders read prompt and response of its completions, and nothing else of them."""

import pytest
from django.utils import timezone

from autotune.access.models import Membership
from scores.models import WorkflowRun
from tasks.models import PanelMember
from tests.factories import (
    CompletionFactory,
    GraderFactory,
    OrganizationFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    public,
)

PRIVATE = {"externalId": None, "metadata": {}, "reward": None}
pytestmark = pytest.mark.django_db


@pytest.fixture
def maker():
    return UserFactory()


@pytest.fixture
def grader(maker):
    return GraderFactory(organization=OrganizationFactory(), created_by=maker, visibility="listed")


@pytest.fixture
def task(grader):
    """Judged by the grader and by another one of the task's own organization."""
    shared_task = TaskFactory(graders=[grader], share_text=True)
    PanelMember.objects.create(
        task_version=shared_task.version, grader=GraderFactory(organization=shared_task.organization), position=1
    )
    return shared_task


@pytest.fixture
def completion(task, grader):
    score = ScoreFactory(
        run__completion__task=task, run__completion__external_id="mine-1", run__completion__metadata={"user": "secret"},
        run__completion__messages=[{"role": "user", "content": "the message"}], run__grader=grader,
    )  # fmt: skip
    RunFactory(completion=score.completion, grader=task.version.members.last().grader)
    return score.completion


@pytest.fixture
def owner(api_for, grader, maker):
    return api_for(organization=grader.organization, role="grader_owner", user=maker)


def listed(api, query=""):
    answer = api.get(f"/completions{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["completions"]


def test_the_graders_owner_reads_the_texts(owner, completion, grader):
    shown = owner.get(f"/completions/{public('comp', completion)}").json()["completion"]
    assert listed(owner) == [shown]
    assert (shown["prompt"], shown["response"]) == (completion.prompt, completion.response)
    assert shown["messages"] == [{"role": "user", "content": "the message"}]


def test_the_graders_owner_sees_neither_the_organization_nor_other_scores(owner, completion, grader):
    shown = owner.get(f"/completions/{public('comp', completion)}").json()["completion"]
    assert {name: shown[name] for name in PRIVATE} == PRIVATE
    assert shown["status"] == "completed"
    own = WorkflowRun.objects.get(completion=completion, grader=grader)
    assert shown["workflowRunIds"] == [public("run", own)]
    assert "secret" not in owner.last.content.decode()
    assert public("user", completion.created_by) not in owner.last.content.decode()


def test_the_submitting_organization_reads_everything(api_for, completion):
    api = api_for(organization=completion.organization)
    shown = api.get(f"/completions/{public('comp', completion)}").json()["completion"]
    assert (shown["externalId"], shown["metadata"]) == ("mine-1", {"user": "secret"})
    assert shown["reward"]["value"] == 0.5
    assert len(shown["workflowRunIds"]) == 2
    assert [row["externalId"] for row in listed(api)] == ["mine-1"]


def test_without_share_text_a_completion_is_404(owner, completion, task):
    task.share_text = False
    task.save()
    assert owner.get(f"/completions/{public('comp', completion)}").status_code == 404
    assert listed(owner) == []


def test_sharing_ends_when_the_task_stops_it(owner, completion, task, api_for):
    operator = api_for(organization=task.organization, role="training_operator")
    assert operator.patch(f"/tasks/{public('task', task)}", {"shareText": False}).status_code == 200
    assert owner.get(f"/completions/{public('comp', completion)}").status_code == 404


def test_others_see_nothing(api_for, completion, grader, maker):
    path = f"/completions/{public('comp', completion)}"
    colleague = api_for(organization=grader.organization, role="grader_owner")
    elsewhere = api_for(organization=OrganizationFactory(), role="grader_owner", user=maker)
    stranger = api_for(role="organization_admin")
    operator = api_for(organization=grader.organization, role="training_operator")
    for api in (colleague, elsewhere, stranger, operator):
        assert api.get(path).status_code == 404
        assert listed(api) == []


def test_the_administrator_of_the_graders_organization_reads_it_beside_their_own(api_for, completion, grader):
    own = CompletionFactory(
        task=TaskFactory(organization=grader.organization, graders=[grader]), external_id="own", metadata={"a": 1}
    )
    admin = api_for(organization=grader.organization)
    rows_by_id = {row["id"]: row for row in listed(admin)}
    assert rows_by_id.keys() == {public("comp", own), public("comp", completion)}
    assert rows_by_id[public("comp", own)]["metadata"] == {"a": 1}
    assert rows_by_id[public("comp", completion)]["metadata"] == {}


def test_only_completions_whose_panel_had_the_grader_are_shared(owner, task):
    later = TaskFactory(organization=task.organization)
    other = CompletionFactory(task=task, task_version=later.version)
    assert owner.get(f"/completions/{public('comp', other)}").status_code == 404


def test_shared_completions_are_read_only(owner, completion):
    path = f"/completions/{public('comp', completion)}"
    assert owner.delete(path).status_code == 403
    assert owner.post(f"{path}/score").status_code in (403, 405)
    assert owner.get("/scores/export").status_code == 403


def test_a_shared_completion_cannot_be_found_by_an_external_id(owner, completion, task):
    assert listed(owner, "?externalId=mine-1") == []
    assert [row["id"] for row in listed(owner, f"?taskId={public('task', task)}")] == [public("comp", completion)]
    assert owner.get(f"/completions?taskId={public('task', TaskFactory())}").status_code == 404


def test_a_person_who_left_the_graders_organization_reads_nothing(owner, completion, grader, maker):
    Membership.objects.filter(organization=grader.organization, user=maker).delete()
    assert owner.get(f"/completions/{public('comp', completion)}").status_code == 401


def test_a_deleted_grader_shares_nothing(owner, completion, grader):
    grader.deleted_at = timezone.now()
    grader.save()
    assert owner.get(f"/completions/{public('comp', completion)}").status_code == 404
