"""Verification, the health check and the console, against real graders on the loopback."""

import json
import re

import pytest

from autotune.access.models import AuditEvent
from graders import trying
from graders.health import verification_steps
from graders.models import Grader, GraderCheck, GraderStatusChange, Tally
from scores.models import Score
from tests.factories import SECRET, GraderFactory
from tests.support.fakes import FakeGrader, refuse, serving
from tests.support.rawserver import raw_server, result, signature

SCORE = {
    "value": 0.72,
    "confidence": 0.9,
    "reasoning": "<b>Right</b> clause",
    "dimensions": [{"name": "accuracy", "value": 0.9, "weight": 0.5}],
}
SAMPLE = {"prompt": "What is\r\nit?", "response": "This", "metadata": '{"case": 7}'}


@pytest.fixture
def fake(grader, pages):
    """A well-behaved grader at the address of the owner's."""
    fake_grader = FakeGrader(judge=lambda completion: SCORE)
    with serving(fake_grader):
        pages.point(grader, fake_grader.url, supports_dimensions=True, supports_explanations=True)
        yield fake_grader


def test_a_healthy_grader_passes_every_check_and_becomes_active(owner, grader, fake, pages):
    answer = owner.post(pages.address("grader_verify", grader))
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "Verified: the grader is active" in text
    assert text.count('aria-label="passed"') == 4
    assert Grader.objects.get().status == "active"
    assert [path for path, _ in fake.calls] == ["/score"]


def test_a_failed_check_shows_the_cause_and_what_to_change(owner, grader, fake, pages):
    fake.secret = "atgs_" + "another" * 8
    text = owner.post(pages.address("grader_verify", grader)).content.decode()
    assert "Not verified" in text
    assert "bad_signature" in text
    assert "What to change:</strong> Sign the exact bytes of the answer" in text
    assert Grader.objects.get().status == "inactive"


def step(client, grader, pages, **fields):
    """A step of a verification as htmx asks for it: the page, and the ticket of the next step if there is one."""
    text = client.post(pages.address("grader_verify", grader), fields, headers={"HX-Request": "true"}).content.decode()
    match = re.search(r'name="ticket" value="([^"]+)"', text)
    return text, match and match[1]


def test_verification_shows_health_first_and_the_score_second(owner, grader, fake, pages):
    text, ticket = step(owner, grader, pages)
    assert ticket
    assert (text.count('aria-label="passed"'), text.count('aria-label="waiting"')) == (3, 1)
    assert "Waiting for its score." in text
    assert (len(fake.keys), fake.calls) == (1, [])
    assert Grader.objects.get().status == "inactive"
    assert not GraderCheck.objects.exists()
    text, further = step(owner, grader, pages, ticket=ticket)
    assert further is None
    assert "Verified: the grader is active" in text
    assert text.count('aria-label="passed"') == 4
    assert (len(fake.keys), [path for path, _ in fake.calls]) == (2, ["/score"])
    assert Grader.objects.get().status == "active"
    assert Grader.objects.get().version.label == fake.version
    assert list(GraderCheck.objects.order_by("id").values_list("name", "passed")) == [
        ("health", True), ("clock", True), ("capabilities", True), ("score", True),
    ]  # fmt: skip


def test_a_first_step_that_fails_is_the_last(owner, grader, fake, pages):
    fake.secret = "atgs_" + "another" * 8
    text, ticket = step(owner, grader, pages)
    assert ticket is None
    assert "Not verified" in text
    assert fake.calls == []
    assert GraderCheck.objects.filter(passed=False).count() == 2
    assert Grader.objects.get().status == "inactive"


def test_a_second_step_can_fail(owner, grader, fake, pages):
    _, ticket = step(owner, grader, pages)
    fake.script = refuse(500, times=1)
    text, further = step(owner, grader, pages, ticket=ticket)
    assert further is None
    assert "Not verified" in text
    assert (text.count('aria-label="passed"'), text.count('aria-label="failed"')) == (3, 1)
    assert Grader.objects.get().status == "inactive"


@pytest.mark.parametrize("spoil", ["altered", "late", "of another"])
def test_an_invalid_ticket_is_ignored_and_every_check_runs_again(owner, grader, fake, pages, monkeypatch, spoil):
    _, ticket = step(owner, grader, pages)
    target = grader
    if spoil == "altered":
        ticket = f"x{ticket}"
    elif spoil == "late":
        monkeypatch.setattr(verification_steps, "TICKET_FOR_S", -1)
    else:
        target = GraderFactory(organization=owner.organization, created_by=owner.user)
        pages.point(target, fake.url, supports_dimensions=True, supports_explanations=True)
    fake.keys.clear()
    text, further = step(owner, target, pages, ticket=ticket)
    assert further is None
    assert text.count('aria-label="passed"') == 4
    assert len(fake.keys) == 2  # /health and /score


def test_the_list_calls_no_grader(owner, grader, fake, pages):
    text = owner.get(pages.address("grader_verify", grader)).content.decode()
    assert "What is checked" in text
    assert fake.keys == []
    assert not GraderCheck.objects.exists()


def test_a_health_check_runs_on_demand_and_is_shown(owner, grader, fake, pages):
    Grader.objects.update(status="active", verified_at="2026-01-01T00:00:00Z")
    answer = owner.post(pages.address("grader_health", grader), follow=True)
    assert answer.redirect_chain[0][1] == 302
    assert "The grader reports that it is healthy." in answer.content.decode()
    assert Grader.objects.get().health == "healthy"


def test_the_history_shows_reasons_only_to_the_own_organization(owner, visitor, grader, pages, ago):
    Grader.objects.update(visibility="listed")
    GraderStatusChange.objects.create(grader=grader, previous="active", current="degraded", reason="It <i>said</i> no")
    GraderCheck.objects.create(grader=grader, name="health", passed=False, detail="timeout: No answer.", latency_ms=9)
    own = owner.get(pages.address("grader_health", grader)).content.decode()
    assert "It &lt;i&gt;said&lt;/i&gt; no" in own
    assert "Answer within the grader&#x27;s time limit" in own
    foreign = visitor("training_operator").get(pages.address("grader_health", grader))
    assert foreign.status_code == 404
    assert "said" not in foreign.content.decode().partition("<main")[2]
    assert "No answer." not in foreign.content.decode()


def test_a_sample_is_judged_and_nothing_is_stored(owner, grader, fake, pages):
    answer = owner.post(pages.address("grader_try", grader), SAMPLE)
    text = answer.content.decode()
    assert answer.status_code == 200
    path, sent = fake.calls[0]
    assert path == "/score"
    assert (sent["completion"]["prompt"], sent["completion"]["metadata"]) == ("What is\nit?", {"case": 7})
    for expected in (
        "0.720",
        "accuracy",
        "&lt;b&gt;Right&lt;/b&gt; clause",
        "verified</span>",
        "X-Autotune-Signature",
        "<dt>Status",
    ):
        assert expected in text, expected
    assert not Score.objects.exists()
    assert not Tally.objects.exists()
    assert not GraderCheck.objects.exists()
    assert Grader.objects.get().status == "inactive"


def test_c18_the_console_sends_and_shows_a_system_prompt(owner, grader, fake, pages):
    form = SAMPLE | {"system_prompt": "Answer with <b>one</b>\r\nnumber."}
    answer = owner.post(pages.address("grader_try", grader), form)
    assert fake.calls[0][1]["completion"]["systemPrompt"] == "Answer with <b>one</b>\nnumber."
    assert "&quot;systemPrompt&quot;:&quot;Answer with &lt;b&gt;one&lt;/b&gt;" in answer.content.decode()
    owner.post(pages.address("grader_try", grader), SAMPLE | {"system_prompt": ""})
    assert "systemPrompt" not in fake.calls[1][1]["completion"]


def test_the_request_shown_is_the_one_that_was_sent_and_never_the_secret(owner, grader, fake, pages):
    seen = []
    fake.script = [lambda handler, path, body: (seen.append(dict(handler.headers)), (200, fake.judged(body), True))[1]]
    trial = owner.post(pages.address("grader_try", grader), SAMPLE).context["trial"]
    shown = dict(trial.sent.headers)
    assert shown["X-Autotune-Signature"] == seen[0]["X-Autotune-Signature"]
    assert json.loads(trial.sent.body) == fake.calls[0][1]
    assert trial.sent.url == f"{fake.url}/score"
    assert trial.answer.verified_with == shown["X-Autotune-Key-Id"]


def test_a_secret_in_a_graders_response_is_not_shown(owner, grader, pages):
    def behave(connection, request):
        body = json.dumps({"requestId": request.id, "error": f"My secret is {SECRET}"}).encode()
        connection.answer(body, headers=[*signature(request, body), ("X-Debug", SECRET)])

    with raw_server(behave) as server:
        pages.point(grader, server.url)
        text = owner.post(pages.address("grader_try", grader), SAMPLE).content.decode()
    assert "[redacted]" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("status", "signed", "code", "label"),
    [
        (503, False, "grader_unavailable", "not verified"),
        (401, True, "auth_failed", "verified"),
        (404, False, "unsigned_refusal", "not verified"),
        (422, True, "grader_refused", "verified"),
    ],
)
def test_a_refusal_is_shown_with_its_code_and_what_to_change(owner, grader, fake, pages, status, signed, code, label):
    fake.script = refuse(status, signed=signed)
    answer = owner.post(pages.address("grader_try", grader), SAMPLE)
    text = answer.content.decode()
    assert answer.status_code == 200
    assert (f"<code>{code}</code>" in text, "What to change:" in text) == (True, True)
    assert f">{label}</span>" in text
    assert answer.context["trial"].answer.status == status


def test_a_bad_signature_is_explained(owner, grader, pages):
    def behave(connection, request):
        body = result(request)
        connection.answer(body, headers=signature(request, body, offset_s=-4000))

    with raw_server(behave) as server:
        pages.point(grader, server.url)
        trial = owner.post(pages.address("grader_try", grader), SAMPLE).context["trial"]
    assert trial.answer.refused[0] == "stale_timestamp"
    assert trial.failure.code == "stale_timestamp"


def test_an_unreachable_grader_is_reported(owner, grader, fake, pages):
    pages.point(grader, "http://127.0.0.1:1")
    answer = owner.post(pages.address("grader_try", grader), SAMPLE)
    assert answer.status_code == 200
    assert answer.context["trial"].answer.status is None
    assert "What to change:" in answer.content.decode()


def test_hostile_answers_stay_text(owner, grader, pages):
    def behave(connection, request):
        body = result(request, {"value": 0.5, "confidence": 0.5, "reasoning": "<script>alert(1)</script>\u202e"})
        connection.answer(body, headers=[*signature(request, body), ("X-Odd", '"><script>alert(2)</script>')])

    with raw_server(behave) as server:
        pages.point(grader, server.url, supports_explanations=True)
        text = owner.post(pages.address("grader_try", grader), SAMPLE).content.decode()
    assert "<script>alert" not in text


@pytest.mark.parametrize("typed", [{"prompt": ""}, {"metadata": "{"}, {"metadata": "[1]"}, {"response": "x" * 100_001}])
def test_an_invalid_sample_is_not_sent_and_stays_in_the_form(owner, grader, fake, pages, typed):
    answer = owner.post(pages.address("grader_try", grader), SAMPLE | typed)
    assert answer.status_code == 400
    assert answer.context["form"]["response"].value() == (SAMPLE | typed)["response"]
    assert fake.calls == []


def test_the_number_of_trials_is_limited(owner, grader, fake, pages, monkeypatch):
    monkeypatch.setattr(trying, "A_MINUTE", trying.Rate(per_minute=1, burst=1))
    assert owner.post(pages.address("grader_try", grader), SAMPLE).status_code == 200
    refused = owner.post(pages.address("grader_try", grader), SAMPLE)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert "times a minute" in refused.content.decode()
    assert len(fake.calls) == 1


def test_the_audit_log_records_each_trial_with_its_grader(owner, grader, fake, pages):
    owner.post(pages.address("grader_try", grader), SAMPLE)
    event = AuditEvent.objects.get(action="endpoint_graders.try")
    assert (event.object_id, event.outcome, event.user_id) == (grader.public_id, "succeeded", owner.user.pk)


def test_a_refused_previous_secret_is_retried_with_the_current_one(owner, grader, fake, pages):
    answer = owner.post(pages.address("grader_rotate", grader), pages.rotation(owner, grader, grace_hours="1"))
    fake.secret = re.search(r"atgs_[\w-]{40,}", answer.content.decode()).group()
    fake.script = refuse(401)
    trial = owner.post(pages.address("grader_try", grader), SAMPLE).context["trial"]
    assert trial.repeated
    assert trial.verdict.value == 0.72
