"""Nothing of another organization's grader but what it lists: every GET route, failures, webhooks and exports are read.

A grader of organization X carries markers in all that is its own. Organization Y has a task on it; whatever Y's people
are answered is searched for the markers.
"""

import base64
import hashlib
import itertools
import json
import re
from datetime import timedelta

import pytest
from django.urls import URLResolver, get_resolver
from django.utils import timezone

from autotune.access.models import Membership
from autotune.core import ids
from autotune.webhooks.events import fanout
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Delivery, Event
from autotune.webhooks.states import EventKind
from graders.models import GraderCheck, GraderStatusChange
from scores.models import Reward
from tests.factories import (
    ApiKeyFactory,
    ExportFactory,
    GraderFactory,
    OrganizationFactory,
    ReviewFactory,
    RewardEndpointFactory,
    RunFactory,
    ScoreFactory,
    TaskFactory,
    UserFactory,
    WebhookFactory,
    public,
)
from tools.page_routes import readable

HOST = "marker-host.example.org"
PIN = base64.b64encode(hashlib.sha256(b"marker").digest()).decode()
SECRET = "atgs_marker00000000000000000000000000000000000000"
NUMBERS = (7_654_321, 1_013, 29_871, 119_873, 987, 543_219)  # limits and capabilities
VERDICT = {
    "reasoning": "marker-reasoning",
    "dimensions": [{"name": "marker-dimension", "value": 0.5, "weight": None}],
}
MARKERS = re.compile("|".join(["marker", re.escape(PIN), *(rf"\b{number}\b" for number in NUMBERS)]))
CODES = ("timeout", "tls_failed", "name_not_resolved", "rate_limited", "bad_signature", "deadline_exceeded")
ROLES = ("training_operator", "reviewer", "organization_admin", "grader_owner")
pytestmark = pytest.mark.django_db


@pytest.fixture
def grader():
    """Listed, and full of markers."""
    rate, concurrency, timeout, batch_timeout, batch, latency = NUMBERS
    judge = GraderFactory(
        organization=OrganizationFactory(name="marker-organization"),
        created_by=UserFactory(email="marker@example.org", name="marker"),
        name="The judge", endpoint=f"https://{HOST}/base", visibility="listed", pins=[PIN], secret=SECRET,
        rate_per_minute=rate, max_concurrency=concurrency, timeout_ms=timeout, batch_timeout_ms=batch_timeout,
        max_batch_size=batch, avg_latency_ms=latency, redact_reasoning=True, redact_dimensions=True,
        held_until=timezone.now() + timedelta(hours=1), held_reason="marker-hold", troubles=["marker-trouble"],
    )  # fmt: skip
    GraderCheck.objects.create(grader=judge, name="health", passed=False, detail=f"no answer of {HOST}", latency_ms=3)
    GraderStatusChange.objects.create(
        grader=judge, previous="active", current="degraded", reason=f"{HOST} did not answer"
    )
    return judge


@pytest.fixture
def world(grader):
    """What Y has to do with it: public ids by kind. Every run of `CODES` has failed with the grader's address."""
    task = TaskFactory(graders=[grader])
    score = ScoreFactory(run__completion__task=task, **VERDICT)
    review = ReviewFactory(run__completion__task=task, **VERDICT)
    webhook = WebhookFactory(organization=task.organization, events=["score.completed", "score.failed"])
    completions = [score.completion]
    for code in CODES:
        run = RunFactory(
            completion__task=task, status="failed", attempt=2, error_code=code,
            error_message=f"{HOST} was asked" if code != "deadline_exceeded" else "It took too long.",
        )  # fmt: skip
        Reward.objects.create(
            completion=run.completion, organization=task.organization, task=task, aggregation="mean", used=0, failed=1,
            error_code=code,
        )  # fmt: skip
        completions.append(run.completion)
    kinds = [EventKind.SCORE_COMPLETED, *[EventKind.SCORE_FAILED] * len(CODES)]
    for kind, completion in zip(kinds, completions, strict=True):
        emit(kind, [EmittedEvent(task.organization_id, completion.pk)])
    fanout.fan_out()
    delivery = Delivery.objects.filter(webhook=webhook).first()
    more = {
        "exp": public("exp", ExportFactory(organization=task.organization, query={"taskId": public("task", task)})),
        "rwd": public("rwd", RewardEndpointFactory(task=task)),
    }
    return {
        **more,
        "task": public("task", task), "comp": public("comp", score.completion), "score": public("score", score),
        "run": public("run", run), "rev": public("rev", review), "grader": public("grader", grader),
        "whk": public("whk", webhook), "dlv": public("dlv", delivery), "org": public("org", task.organization),
        "organization": task.organization, "failed": [public("comp", completion) for completion in completions[1:]],
    }  # fmt: skip


def gets(patterns=None, prefix=""):
    """Every route of the API that is read, as its pattern."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from gets(pattern.url_patterns, route)
        elif route.startswith("api/v1/") and hasattr(getattr(pattern.callback, "view_class", None), "get"):
            yield route.removeprefix("api/v1")


def bytes_of(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def leaks(answer, path):
    """The places of markers in a response, in words."""
    text = bytes_of(answer).decode("utf-8", "replace") + json.dumps(dict(answer.headers))
    return [f"{path}: …{text[max(0, hit.start() - 60) : hit.end() + 20]}…" for hit in MARKERS.finditer(text)]


def test_the_search_finds_the_markers_in_responses_to_the_owner(world, grader, api_for):
    owner = api_for(organization=grader.organization, role="organization_admin")
    leaked = leaks(owner.get(f"/graders/{world['grader']}"), "")
    assert len(leaked) >= len(NUMBERS)
    assert leaks(owner.get(f"/graders/{world['grader']}/health"), "")


@pytest.mark.parametrize("role", ROLES)
def test_no_route_reveals_them_to_another_organization(world, api_for, role):
    api = api_for(organization=world["organization"], role=role)
    own = {
        "member": ids.encode("member", Membership.objects.get(user=api.user).uid),
        "key": public("key", ApiKeyFactory(organization=world["organization"], user=api.user, role=role)),
        "role": public("role", api.api_key.role),
    }
    leaked, answered = [], 0
    for route in gets():
        path = re.sub(r"<(\w+):\w+>", lambda named: {**own, **world}.get(named[1], f"{named[1]}_none"), route)
        queries = ["", "?dimensions=true", "?dimensions=true&per=grader"] if path == "/scores/export" else [""]
        for query in queries:
            answer = api.get(path + query)
            answered += answer.status_code == 200
            leaked += leaks(answer, path + query)
    for completion, code in itertools.product(world["failed"], ("", "&status=failed")):
        leaked += leaks(api.get(f"/workflow-runs?completionId={completion}{code}"), "runs of a failed completion")
        leaked += leaks(api.get(f"/completions/{completion}/score"), "the score of a failed completion")
    assert answered >= (20 if role != "grader_owner" else 12)
    assert leaked == []


@pytest.mark.parametrize("role", ROLES)
def test_no_page_reveals_them(world, visitor, role):
    client = visitor(role, world["organization"])
    own = {
        "member": ids.encode("member", Membership.objects.get(user=client.user).uid),
        "key": public("key", ApiKeyFactory(organization=world["organization"], user=client.user, role=role)),
    }
    leaked, shown = [], 0
    for page in readable():
        path = re.sub(r":(\w+)", lambda named: {**own, **world}.get(named[1], f"{named[1]}_none"), page.path)
        answer = client.get(path)
        shown += answer.status_code == 200
        leaked += leaks(answer, path)
    leaked += leaks(client.get(f"/search?q={world['grader']}"), "the search")
    leaked += leaks(client.get("/search?q=judge"), "the search")
    assert shown >= 6
    assert leaked == []


def test_writes_and_their_refusals_do_not_reveal_them(world, api_for, grader):
    api = api_for(organization=world["organization"])
    body = {"taskId": world["task"], "modelId": "m", "prompt": "p", "response": "r"}
    whole = {"name": "x", "endpoint": f"https://{HOST[7:]}"}
    leaked = []

    def ask(method, path, content=None):
        leaked.extend(leaks(api.call(method, path, content), f"{method} {path}"))

    ask("POST", "/completions", body)
    ask("POST", "/completions/batch", {"completions": [body]})
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/verify"), ("POST", "/rotate-secret")):
        ask(method, f"/graders/{world['grader']}{path}", whole if method == "PATCH" else None)
        assert api.last.status_code in (403, 404)
    ask("POST", f"/workflow-runs/{world['run']}/retry")
    ask("POST", f"/workflow-runs/{world['run']}/retry")
    ask("POST", f"/workflow-runs/{world['run']}/cancel")
    ask("POST", f"/completions/{world['comp']}/rescore")
    ask("POST", f"/reviews/{world['rev']}/claim")
    ask("POST", f"/reviews/{world['rev']}/decision", {"approved": True})
    ask("PATCH", f"/tasks/{world['task']}", {"description": "d"})
    for layout in ("records", "preferences", "kto"):
        ask("POST", "/exports", {"taskId": world["task"], "layout": layout})
    ask("POST", "/preference-pairs", {"taskId": world["task"]})
    ask("POST", "/rewards", {"taskId": world["task"], "items": [{"prompt": "p", "response": "r"}], "deadlineMs": 1_000})
    ask("POST", "/reward-endpoints", {"taskId": world["task"], "protocol": "openrlhf", "unscored": "hold"})
    grader.status = "inactive"
    grader.save()
    ask("POST", "/completions", body)
    assert api.last.status_code in (202, 409)
    grader.deleted_at = timezone.now()
    grader.save()
    ask("POST", "/completions", body)
    ask("POST", f"/completions/{world['comp']}/rescore")
    assert leaked == []


def test_webhooks_do_not_reveal_them(world):
    bodies = [event.body for event in Event.objects.all() if event.body]
    assert len(bodies) == 1 + len(CODES)
    assert [hit for body in bodies for hit in MARKERS.findall(str(body))] == []
