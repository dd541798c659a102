"""Reasoning and dimensions: for roles that read them, and redacted for other organizations if the grader says so."""

import json
from dataclasses import dataclass
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from autotune.access.models import Role, User
from autotune.webhooks.events import fanout
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Event
from autotune.webhooks.states import EventKind
from scores.models import Reward, Score
from scores.results.privacy import GraderPrivacy, ViewerSight
from tests.factories import (
    GraderFactory,
    OrganizationFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    WebhookFactory,
    public,
)

REASONING, DIMENSION = "because of the hidden rule", "hidden-dimension"
VERDICT = {"reasoning": REASONING, "dimensions": [{"name": DIMENSION, "value": 0.5, "weight": None}]}
pytestmark = pytest.mark.django_db


@dataclass
class Verdict:
    grader_id: UUID
    organization_id: UUID
    reasoning: str | None
    dimensions: list | None


@pytest.fixture
def maker():
    return UserFactory()


@pytest.fixture
def grader(maker):
    """Another organization's, listed."""
    return GraderFactory(organization=OrganizationFactory(), created_by=maker, visibility="listed")


@pytest.fixture
def score(grader):
    return ScoreFactory(run__completion__task=TaskFactory(graders=[grader]), **VERDICT)


@pytest.fixture
def consumer(api_for, score):
    return api_for(organization=score.organization)


def redact(grader, *, reasoning=True, dimensions=True):
    grader.redact_reasoning, grader.redact_dimensions = reasoning, dimensions
    grader.save()


def seen(api, score):
    """(reasoning, dimensions) wherever this caller meets the score; the same everywhere."""
    score_id, completion, run = public("score", score), public("comp", score.completion), public("run", score.run)
    results = [
        api.get(f"/scores/{score_id}").json()["score"],
        *api.get("/scores").json()["scores"],
        *api.get(f"/completions/{completion}/score").json()["scores"],
        api.get(f"/workflow-runs/{run}").json()["workflowRun"]["result"],
        *[row["result"] for row in api.get("/workflow-runs").json()["workflowRuns"]],
    ]
    state = api.get(f"/completions/{completion}/score").json()["score"]
    results += [state] if state else []
    assert all(result["value"] == score.value for result in results)
    first = (results[0]["reasoning"], results[0]["dimensions"])
    assert [(result["reasoning"], result["dimensions"]) for result in results] == [first] * len(results)
    return first


def whole():
    return REASONING, VERDICT["dimensions"]


def test_without_redaction_readers_of_a_score_see_all_of_it(consumer, score, api_for, grader, maker):
    assert seen(consumer, score) == whole()
    assert seen(api_for(organization=grader.organization, role="grader_owner", user=maker), score) == whole()


@pytest.mark.parametrize("role", ["training_operator", "reviewer", "organization_admin"])
def test_other_organizations_never_see_redacted_members(api_for, score, grader, role):
    redact(grader)
    assert seen(api_for(organization=score.organization, role=role), score) == (None, None)


def test_reasoning_and_dimensions_are_redacted_independently(consumer, score, grader):
    redact(grader, dimensions=False)
    assert seen(consumer, score) == (None, VERDICT["dimensions"])
    redact(grader, reasoning=False)
    assert seen(consumer, score) == (REASONING, None)


def test_the_administrator_of_the_installation_does_not_see_it_either(admin_api, score, grader):
    assert seen(admin_api, score) == whole()
    redact(grader)
    assert seen(admin_api, score) == (None, None)


def test_the_graders_own_people_keep_it(api_for, score, grader, maker):
    redact(grader)
    owner = api_for(organization=grader.organization, role="grader_owner", user=maker)
    assert seen(owner, score) == whole()


def test_in_the_graders_own_organization_it_is_not_redacted(api_for):
    task = TaskFactory()
    redact(task.version.members.first().grader)
    score = ScoreFactory(run__completion__task=task, **VERDICT)
    assert seen(api_for(organization=task.organization, role="training_operator"), score) == whole()


def test_a_role_without_reasoning_sees_only_the_number(api_for, score):
    role = Role.objects.create(
        organization=score.organization,
        name="numbers",
        permissions=[
            {"resource": name, "actions": ["read"], "scope": "organization"} for name in ("scores", "workflow_runs")
        ],
    )
    assert seen(api_for(organization=score.organization, role=role), score) == (None, None)


def test_a_reviewer_sees_what_the_grader_lets_them(api_for, grader):
    review = ReviewFactory(run__completion__task=TaskFactory(graders=[grader]), **VERDICT)
    reviewer = api_for(organization=review.organization, role="reviewer")

    def shown(answer):
        return answer.json()["review"]["reasoning"], answer.json()["review"]["dimensions"]

    path = f"/reviews/{public('rev', review)}"
    assert shown(reviewer.get(path)) == whole()
    redact(grader)
    assert shown(reviewer.get(path)) == (None, None)
    assert shown(reviewer.post(f"{path}/claim")) == (None, None)
    assert shown(reviewer.post(f"{path}/decision", {"approved": True})) == (None, None)


@pytest.mark.parametrize("per", ["completion", "grader"])
def test_exports_leave_out_redacted_dimensions_and_their_names(consumer, score, grader, per):
    other = ScoreFactory(
        run__completion__task=TaskFactory(organization=score.organization),
        dimensions=[{"name": "open", "value": 1.0, "weight": None}],
    )

    def lines():
        answer = consumer.get(f"/scores/export?dimensions=true&per={per}")
        records = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
        return {record["metadata"]["completion_id"]: record["dimensions"] for record in records}

    theirs, ours = public("comp", score.completion), public("comp", other.completion)
    assert lines() == {theirs: {DIMENSION: 0.5, "open": None}, ours: {DIMENSION: None, "open": 1.0}}
    redact(grader)
    assert lines() == {theirs: {"open": None}, ours: {"open": 1.0}}


@pytest.mark.parametrize(("redacted", "expected"), [(False, whole()), (True, (None, None))])
def test_webhooks_send_only_what_the_organization_may_see(score, grader, redacted, expected):
    redact(grader, reasoning=redacted, dimensions=redacted)
    WebhookFactory(organization=score.organization, events=["score.completed"])
    emit(EventKind.SCORE_COMPLETED, [EmittedEvent(score.organization_id, score.completion_id)])
    fanout.fan_out()
    sent_score = json.loads(Event.objects.get().body)["data"]["score"]
    assert (sent_score["value"], sent_score["reasoning"], sent_score["dimensions"]) == (score.value, *expected)


def test_a_role_without_reasoning_cannot_subscribe_to_completed_scores(api_for):
    organization = OrganizationFactory()
    may = {"scores": ["read"], "webhooks": ["create"]}
    role = Role.objects.create(
        organization=organization,
        name="numbers",
        permissions=[{"resource": name, "actions": acts, "scope": "organization"} for name, acts in may.items()],
    )
    answer = api_for(organization=organization, role=role).post(
        "/webhooks", {"url": "https://receiver.example.org/hook", "events": ["score.completed"]}
    )
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "event_refused")


def test_the_admin_site_shows_none_of_it(score, grader):
    redact(grader)
    review = ReviewFactory(run__completion__task=score.task, **VERDICT)
    client = Client()
    client.force_login(User.objects.create_superuser("boss@example.org"))
    for name, row in (("score", score), ("review", review)):
        page = client.get(reverse(f"admin:scores_{name}_change", args=[row.pk])).content.decode()
        assert page.count("(kept by its grader)") == 3  # reasoning, details and dimensions
        assert REASONING not in page
        assert DIMENSION not in page


HOST = "the host judge.internal.example"


@pytest.mark.parametrize(
    ("code", "names_host"),
    [("timeout", False), ("tls_failed", False), ("rate_limited", False), ("grader_error", True), ("grader_gone", True)],
)
def test_failures_reveal_a_graders_address_only_to_its_owner(
    consumer, admin_api, api_for, score, grader, maker, code, names_host
):
    run = RunFactory(
        completion__task=score.task, status="failed", attempt=1, error_code=code, error_message=f"{HOST} said no."
    )
    completion = run.completion
    Reward.objects.create(
        completion=completion, organization=completion.organization, task=completion.task, aggregation="mean",
        used=0, failed=1, error_code=code,
    )  # fmt: skip
    WebhookFactory(organization=completion.organization, events=["score.failed"])
    emit(EventKind.SCORE_FAILED, [EmittedEvent(completion.organization_id, completion.pk)])
    fanout.fan_out()

    def message(api):
        return api.get(f"/workflow-runs/{public('run', run)}").json()["workflowRun"]["error"]["message"]

    owner = api_for(organization=grader.organization, role="grader_owner", user=maker)
    assert message(owner).startswith(HOST)
    assert message(admin_api).startswith(HOST)
    for sentence in (message(consumer), json.loads(Event.objects.get().body)["data"]["error"]["message"]):
        assert (HOST in sentence) is names_host
        assert sentence.endswith(".")
        assert len(sentence) > 20


def test_redaction_is_registered_merged_and_shown_only_to_its_owner(api_for, settings):
    owner = api_for(role="organization_admin")
    body = {"name": "G", "endpoint": "https://grader.example.org", "capabilities": {}}
    grader = owner.post("/graders", body | {"redaction": {"reasoning": True}, "visibility": "listed"}).json()["grader"]
    path = f"/graders/{grader['id']}"
    assert grader["redaction"] == {"reasoning": True, "dimensions": False}

    def patched(redaction):
        return owner.patch(path, {"redaction": redaction}).json()["grader"]["redaction"]

    assert patched({"dimensions": True}) == {"reasoning": True, "dimensions": True}
    assert patched({"reasoning": None}) == {"reasoning": False, "dimensions": True}
    assert patched(None) == {"reasoning": False, "dimensions": False}
    assert owner.patch(path, {"redaction": {"reasoning": 1}}).status_code == 400
    assert api_for(role="training_operator").get(path).json()["grader"]["redaction"] is None


def test_privacy_costs_one_query_for_any_number_of_graders(score, django_assert_num_queries):
    for _ in range(3):
        ScoreFactory(run__completion__task=TaskFactory(organization=score.organization), **VERDICT)
    facts = Score.objects.filter(organization=score.organization).defer("reasoning")
    with django_assert_num_queries(2):
        ViewerSight.of_organization(score.organization_id, judges := GraderPrivacy()).judges.meet_those_of(
            [Verdict(row.grader_id, row.organization_id, None, row.dimensions) for row in facts]
        )
    with django_assert_num_queries(0):
        judges.meet_those_of([Verdict(score.grader_id, score.organization_id, "known by now", None)])
        judges.meet_those_of([Verdict(UUID(int=7), score.organization_id, None, None)])
