"""Legal holds: what they cover stays, whatever anybody asks, until they are released."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import Organization
from scores import jobs
from scores.models import LegalHold, Score
from scores.retention import expiry
from tasks.models import Completion, Task
from tests.factories import CompletionFactory, ScoreFactory, TaskFactory, public
from tests.scores.submitting import problems

LATER = timezone.now() + timedelta(days=400)


@pytest.fixture
def score(db):
    return ScoreFactory(run__completion__task__text_days=30)


@pytest.fixture
def api(api_for, score):
    return api_for(organization=score.organization)


def hold(api, **about):
    answer = api.post("/legal-holds", {"reason": "Case 12", **about})
    assert answer.status_code == 201, answer.content
    return answer.json()["legalHold"]


def scopes(score):
    return [
        {"completionId": public("comp", score.completion)},
        {"taskId": public("task", score.task)},
        {"modelId": score.completion.model_id},
        {},
    ]


@pytest.mark.parametrize("which", range(4), ids=["completion", "task", "model", "organization"])
def test_held_data_stays_until_the_hold_is_released(api, score, which):
    Organization.objects.filter(pk=score.organization_id).update(score_days=60)
    completion = public("comp", score.completion)
    legal_hold = hold(api, **scopes(score)[which])
    assert {
        name: value for name, value in legal_hold.items() if name in ("completionId", "taskId", "modelId") and value
    } == (scopes(score)[which])
    refused = [
        api.delete(f"/completions/{completion}"),
        api.delete(f"/scores/{public('score', score)}"),
        api.post("/erasures", {"completionId": completion}),
    ]
    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(409, "legal_hold")] * 3
    erasure = api.post("/erasures", {"taskId": public("task", score.task)}).json()["erasure"]
    jobs.erase()
    done = api.get(f"/erasures/{erasure['id']}").json()["erasure"]
    assert (done["status"], done["erased"], done["held"]) == ("completed", 0, 1)
    expiry.work(LATER)
    assert Completion.objects.filter(erased_at=None, prompt__isnull=False).count() == Score.objects.count() == 1

    assert api.delete(f"/legal-holds/{legal_hold['id']}").status_code == 204
    assert api.delete(f"/completions/{completion}").status_code == 204
    expiry.work(LATER)
    assert not Completion.objects.exists()
    assert not Score.objects.exists()


def test_retention_checks_again_after_a_hold_is_released(api, score):
    later = CompletionFactory(task=score.task)
    legal_hold = hold(api, completionId=public("comp", score.completion))
    expiry.work(LATER)
    later.refresh_from_db()
    assert later.erased_at
    assert Task.objects.get().erased_to == later.pk
    api.delete(f"/legal-holds/{legal_hold['id']}")
    expiry.work(LATER)
    assert not Completion.objects.filter(erased_at=None).exists()


def test_data_without_a_hold_is_erased(api, api_for, score):
    hold(api, taskId=public("task", TaskFactory(organization=score.organization)))
    hold(api, modelId="another model")
    hold(api_for())
    assert api.delete(f"/completions/{public('comp', score.completion)}").status_code == 204


def test_a_release_is_recorded_and_happens_once(api, score):
    legal_hold = hold(api)
    assert (legal_hold["reason"], legal_hold["releasedAt"], legal_hold["releasedBy"]) == ("Case 12", None, None)
    path = f"/legal-holds/{legal_hold['id']}"
    api.delete(path)
    first = api.get(path).json()["legalHold"]
    assert first["releasedAt"]
    assert first["releasedBy"] == public("user", api.user)
    assert api.delete(path).status_code == 204
    assert api.get(path).json()["legalHold"] == first
    assert [row["id"] for row in api.get("/legal-holds?active=false").json()["legalHolds"]] == [legal_hold["id"]]
    assert api.get("/legal-holds?active=true").json()["legalHolds"] == []


def test_two_holds_on_one_completion_are_released_one_by_one(api, score):
    path = f"/completions/{public('comp', score.completion)}"
    first, second = hold(api), hold(api, modelId=score.completion.model_id)
    api.delete(f"/legal-holds/{first['id']}")
    assert api.delete(path).status_code == 409
    api.delete(f"/legal-holds/{second['id']}")
    assert api.delete(path).status_code == 204


def test_the_reason_is_ciphertext(api):
    hold(api)
    assert b"Case" not in bytes(LegalHold.objects.values_list("reason", flat=True).get())


def test_an_invalid_request_names_its_member(api):
    other = CompletionFactory()
    assert problems(api.post("/legal-holds", {}))[0][0] == "/reason"
    assert problems(api.post("/legal-holds", {"reason": " "}))[0][0] == "/reason"
    both = {"reason": "r", "modelId": "m", "completionId": public("comp", other)}
    assert sorted(problems(api.post("/legal-holds", both))) == [
        ("/completionId", "mutually_exclusive"), ("/modelId", "mutually_exclusive"),
    ]  # fmt: skip
    answer = api.post("/legal-holds", {"reason": "r", "completionId": public("comp", other)})
    assert problems(answer, 404) == [("/completionId", "not_found")]


def test_roles_that_may_place_holds(api, api_for, score, operating):
    legal_hold = hold(api)
    path = f"/legal-holds/{legal_hold['id']}"
    for role in ("training_operator", "reviewer", "grader_owner"):
        other = api_for(organization=score.organization, role=role)
        calls = [
            other.get("/legal-holds"), other.get(path), other.post("/legal-holds", {"reason": "r"}), other.delete(path),
        ]  # fmt: skip
        assert [answer.status_code for answer in calls] == [403] * 4, role
    stranger = api_for()
    assert (stranger.get(path).status_code, stranger.delete(path).status_code) == (404, 404)
    admin = api_for(organization=operating, role="admin")
    elsewhere = hold(admin, completionId=public("comp", score.completion))
    assert elsewhere["organizationId"] == public("org", score.organization)
    assert admin.delete(path).status_code == 204


def test_a_task_without_completions_can_be_deleted_whatever_was_held_or_erased_of_it(api, score):
    task = TaskFactory(organization=score.organization)
    legal_hold = hold(api, taskId=public("task", task))
    erasure = api.post("/erasures", {"taskId": public("task", task)}).json()["erasure"]
    assert api.delete(f"/tasks/{public('task', task)}").status_code == 204
    assert api.get(f"/legal-holds/{legal_hold['id']}").json()["legalHold"]["taskId"] == public("task", task)
    jobs.erase()
    assert api.get(f"/erasures/{erasure['id']}").json()["erasure"]["status"] == "completed"
