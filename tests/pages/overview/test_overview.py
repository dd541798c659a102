"""The overview: what each role sees of open work and results; only its own, at a small and constant cost."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.access.models import Organization, Role
from autotune.core import ids
from autotune.site.overviews import newest, sums
from graders.models import Grader
from scores.engine.sweep import PULSE
from scores.models import Pulse
from tests.factories import (
    CompletionFactory,
    ExportFactory,
    GraderFactory,
    ReviewFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    WebhookFactory,
)
from tests.pages.overview import plenty

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202egnirts " + "x" * 150


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    sums.kept.clear()


def cards(client):
    return {card.name: card for card in client.get("/").context["needs"].cards}


def chart(client, title, period="24h"):
    return next(
        candidate for candidate in client.get("/", {"period": period}).context["charts"] if candidate.title == title
    )


def summary(client, title, period="24h"):
    """Without the marks that keep each name's direction to itself."""
    return chart(client, title, period).summary.replace("\u2068", "").replace("\u2069", "")


def failed_run(task, code="grader_timeout", ago=timedelta(hours=1)):
    return RunFactory(
        completion=CompletionFactory(task=task), status="failed", error_code=code, completed_at=timezone.now() - ago
    )


def open_work(client):
    """Leave something to do of each kind in the client's organization."""
    own = {"organization": client.organization, "created_by": client.user}
    grader = GraderFactory(**own)
    task = TaskFactory(**own, graders=[grader])
    for code, ago in (("auth_failed", 1), ("auth_failed", 2), ("missing_member", 3), ("auth_failed", 30)):
        failed_run(task, code, timedelta(hours=ago))
    ReviewFactory(run__completion__task=task)
    ExportFactory(**own, status="failed")
    WebhookFactory(**own, status="disabled")
    Grader.objects.filter(pk=grader.pk).update(status="degraded", troubles=["circuit"])
    RunFactory(completion=CompletionFactory(task=task), created_at=timezone.now() - timedelta(hours=1))


def test_an_admin_sees_open_work_with_counts_and_links(visitor):
    client = visitor()
    open_work(client)
    shown = cards(client)
    assert {name: card.value for name, card in shown.items()} == {
        "Failed workflow runs": 3, "Due workflow runs": 1, "Waiting workflow runs": 1, "Graders in trouble": 1, "Open reviews": 1,
        "Failed exports": 1, "Disabled webhooks": 1,
    }  # fmt: skip
    assert {name for name, card in shown.items() if card.tone} == set(shown) - {"Waiting workflow runs"}
    failures = client.get("/").context["needs"].failures
    assert [(failure.code, failure.count, failure.fault) for failure in failures] == [
        ("auth_failed", 2, "grader"), ("missing_member", 1, "grader"),
    ]  # fmt: skip
    assert "give the grader its current shared secret" in client.get("/").content.decode().lower()


def test_each_grader_in_trouble_is_counted_once(visitor):
    client = visitor()
    later = timezone.now() + timedelta(minutes=5)
    for status, held_until in (("degraded", later), ("active", later), ("inactive", None), ("active", None)):
        GraderFactory(organization=client.organization, status=status, held_until=held_until)
    card = cards(client)["Graders in trouble"]
    assert (card.value, card.note) == (3, "1 degraded, 1 inactive, 1 paused")


def test_a_rejected_review_is_no_failed_run(visitor):
    client = visitor()
    failed_run(TaskFactory(organization=client.organization), "review_rejected")
    assert "Failed workflow runs" not in cards(client)
    assert client.get("/").context["needs"].failures == []


def test_nothing_of_another_organization_is_counted(visitor):
    other, client = visitor(), visitor()
    plenty.work(other.organization, other.user, scores=30, failed=9)
    answer = client.get("/")
    assert answer.context["needs"].cards == []
    assert not answer.context["has_scores"]
    assert "GSM8K" not in answer.content.decode()


def test_each_role_has_its_cards(visitor):
    boss = visitor()
    open_work(boss)
    of_role = {role: set(cards(visitor(role, boss.organization))) for role in ("training_operator", "reviewer")}
    runs = {"Failed workflow runs", "Due workflow runs", "Waiting workflow runs"}
    assert of_role["training_operator"] == runs | {
        "Graders in trouble", "Open reviews", "Failed exports", "Disabled webhooks",
    }  # fmt: skip
    assert of_role["reviewer"] == {"Open reviews"}


def test_a_grader_owner_sees_their_own_graders_and_no_others(visitor):
    boss = visitor()
    graders, _ = plenty.work(boss.organization, boss.user, scores=60, failed=6)
    owner = visitor("grader_owner", boss.organization)
    Grader.objects.filter(pk=graders[0].pk).update(created_by=owner.user)
    answer = owner.get("/")
    rows = answer.context["graders"]
    assert [row.grader.pk for row in rows] == [graders[0].pk]
    assert rows[0].figures.scored > 0
    assert rows[0].figures.mean == pytest.approx(0.6, abs=0.2)
    assert rows[0].figures.p99 >= rows[0].figures.p50 > 0
    assert [chart.title for chart in answer.context["charts"]] == [
        "Scored completions and failed attempts", "Latency of grader calls",
    ]  # fmt: skip
    html = answer.content.decode()
    assert graders[1].name not in html
    assert "Code review" not in html, "tasks are not theirs to see"


def test_a_reviewer_sees_the_queue_and_what_they_decided(visitor):
    client = visitor("reviewer")
    task = TaskFactory(organization=client.organization, name="Law")
    now = timezone.now()
    for hours in (5, 3, 9):
        ReviewFactory(run__completion__task=task, created_at=now - timedelta(hours=hours))
    for days in (0, 3):
        ReviewFactory(
            run__completion__task=task, status="approved", decided_by=client.user, decided_at=now - timedelta(days=days)
        )
    ReviewFactory(run__completion__task=task, claimed_by=client.user, claimed_until=now + timedelta(minutes=5))
    queue = client.get("/").context["queue"]
    assert (len(queue.oldest), queue.decided, queue.decided_today, queue.claimed) == (4, 2, 1, 1)
    assert queue.oldest[0].since == now - timedelta(hours=9)
    assert queue.oldest[-1].claimed == "yours"
    assert cards(client)["Open reviews"].value == 4


def test_charts_count_each_step_and_average_by_model_and_task(visitor):
    client = visitor()
    task = TaskFactory(organization=client.organization, name="Law")
    for value in (0.25, 0.75):
        ScoreFactory(run__completion__task=task, run__completion__model_id="model-a", value=value)
    ScoreFactory(run__completion__task=task, run__completion__model_id="model-b", value=1.0)
    ScoreFactory(run__completion__task=task, value=0.0, purpose="shadow")
    failed_run(task, ago=timedelta(minutes=1))
    for period in ("1h", "24h", "7d", "30d"):
        assert "Scored 4; Failed 1" in summary(client, "Scored and failed", period)
        assert "model-a 0.5" in summary(client, "Mean score by model", period)
        assert "0.667" in summary(client, "Mean score by task", period)


def test_a_new_score_is_counted_at_once(visitor):
    client = visitor()
    _, tasks = plenty.work(client.organization, client.user, scores=40, failed=0, days=0.9)
    before = summary(client, "Scored and failed")
    ScoreFactory(run__completion__task=tasks[0], value=0.5)
    after = summary(client, "Scored and failed")
    assert ("Scored 40" in before, "Scored 41" in after) == (True, True)


def test_means_use_the_newest_scores_of_a_step_and_the_page_says_so(visitor, monkeypatch):
    monkeypatch.setattr(newest, "NEWEST", 3)
    client = visitor()
    task = TaskFactory(organization=client.organization)
    for value in (0.0, 0.0, 1.0, 1.0, 1.0):
        ScoreFactory(run__completion__task=task, value=value)
    assert "Scored 5" in summary(client, "Scored and failed", "30d")
    assert "1" in summary(client, "Mean score by model", "30d")
    assert "the newest 3 scores" in client.get("/", {"period": "30d"}).content.decode()


def test_an_unknown_period_is_the_default(visitor):
    for text in ("", "1y", "<script>", "\0", "x" * 500):
        assert visitor().get("/", {"period": text}).context["period"].name == "24h"


def test_first_steps_show_what_is_done_and_what_is_next(visitor):
    client = visitor()
    steps = client.get("/").context["steps"]
    assert [step.title for step in steps] == [
        "Register a grader", "Verify it", "Create a task", "Create an API key", "Submit completions", "Export the scores",
    ]  # fmt: skip
    assert not any(step.done for step in steps)
    grader = GraderFactory(organization=client.organization, verified_at=None, status="inactive")
    task = TaskFactory(organization=client.organization, graders=[grader])
    answer = client.get("/")
    assert [step.done for step in answer.context["steps"]] == [True, False, True, False, False, False]
    assert ids.encode("task", task.pk) in answer.context["steps"][4].command
    assert "not verified yet" in answer.content.decode()


def test_first_steps_depend_on_the_role_and_disappear_when_done(visitor):
    assert [step.title for step in visitor("grader_owner").get("/").context["steps"]] == [
        "Register a grader", "Verify it", "Give the first score",
    ]  # fmt: skip
    reviewer = visitor("reviewer").get("/")
    assert reviewer.context["steps"] == []
    assert "Nothing needs you now" in reviewer.content.decode()
    owner = visitor("grader_owner")
    grader = GraderFactory(organization=owner.organization, created_by=owner.user)
    ScoreFactory(run__completion__task=TaskFactory(graders=[grader]))
    assert owner.get("/").context["steps"] == []


def test_operators_see_whether_the_installation_works(visitor):
    Organization.objects.update(operating=False)
    client = visitor("admin")
    assert "Platform faults" not in cards(client)
    Organization.objects.filter(pk=client.organization.pk).update(operating=True)
    Pulse.objects.update_or_create(name=PULSE, defaults={"at": timezone.now()})
    assert "Platform faults" not in cards(client), "the installation works"
    Pulse.objects.update(at=timezone.now() - timedelta(hours=1))
    assert cards(client)["Platform faults"].note == "sweep"


def test_a_refreshing_part_loads_no_charts(visitor):
    client = visitor()
    plenty.work(client.organization, client.user, scores=10)
    answer = client.get("/", headers={"HX-Request": "true", "HX-Target": "needs"})
    assert 'id="needs"' in answer.content.decode()
    assert "charts" not in answer.context


def test_hostile_names_are_text(visitor):
    client = visitor()
    own = {"organization": client.organization, "created_by": client.user}
    grader = GraderFactory(**own, name=HOSTILE[:200])
    task = TaskFactory(**own, name=HOSTILE[:200], graders=[grader])
    ScoreFactory(run__completion__task=task, run__completion__model_id=HOSTILE[:200])
    ReviewFactory(run__completion__task=task)
    failed_run(task, "<script>alert(2)")
    html = client.get("/").content.decode()
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)") >= 3


@pytest.mark.timeout(300)
@pytest.mark.parametrize("role", ["organization_admin", "training_operator", "grader_owner", "reviewer"])
def test_many_scores_take_no_more_queries_than_few(visitor, keys_at_hand, django_assert_max_num_queries, role):
    client = visitor(role)
    plenty.work(client.organization, client.user, scores=5_000, failed=200, days=20, text=None)
    client.get("/")
    keys_at_hand()
    for period in ("24h", "30d"):
        with django_assert_max_num_queries(20):
            assert client.get("/", {"period": period}).status_code == 200


def role_of(organization, *permissions):
    entries = [{"resource": resource, "actions": actions, "scope": scope} for resource, actions, scope in permissions]
    return Role.objects.create(organization=organization, name="custom", permissions=entries)


def test_a_role_limited_to_reviews_of_own_graders_sees_none(visitor):
    boss = visitor()
    role = role_of(boss.organization, ("reviews", ["read", "update", "create"], "own"))
    client = visitor(role, boss.organization)
    grader = GraderFactory(organization=boss.organization, created_by=client.user, name="Mine")
    task = TaskFactory(organization=boss.organization, graders=[grader], name="Code review")
    ReviewFactory(run__completion__task=task, run__grader=grader)
    answer = client.get("/")
    assert answer.context["queue"] is None
    assert "Open reviews" not in cards(client)
    assert "Code review" not in answer.content.decode()


def test_a_queue_names_no_task_and_no_grader_that_the_role_does_not_read(visitor):
    boss = visitor()
    client = visitor(role_of(boss.organization, ("reviews", ["read", "update"], "organization")), boss.organization)
    task = TaskFactory(organization=boss.organization, name="Secret law")
    review = ReviewFactory(run__completion__task=task)
    Grader.objects.filter(pk=review.grader_id).update(name="Secret judge")
    answer = client.get("/")
    assert [(row.task, row.grader) for row in answer.context["queue"].oldest] == [
        (ids.encode("task", task.pk), ids.encode("grader", review.grader_id))
    ]
    assert "Secret" not in answer.content.decode()
    assert cards(client)["Open reviews"].value == 1
    assert boss.get("/").context["queue"].oldest[0].task == "Secret law"
