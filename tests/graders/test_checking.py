"""The health job: how checks of /health change graders, and how they run."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from autotune.core.clock import database_now
from autotune.core.outbound import engine
from graders import credentials, jobs, pauses, status
from graders.gateway import signing
from graders.health import reports
from graders.models import Grader, GraderCheck, GraderStatusChange
from graders.states import GraderStatus, Trouble
from tests.factories import SECRET, GraderFactory
from tests.support.concurrency import together
from tests.support.fakes import FakeGrader, serving

HEALTHY, DEGRADED, UNHEALTHY = "healthy", "degraded", "unhealthy"


class Patient(FakeGrader):
    """Answers /health by `mood`: a status, or a function (handler) -> (status, body, signed)."""

    mood = HEALTHY
    requests_seen = 0

    def answer(self, handler, path, body):
        if path != "/health":
            return super().answer(handler, path, body)
        self.requests_seen += 1
        if callable(self.mood):
            return self.mood(handler)
        return 200, {"status": self.mood, "version": self.version}, True


def down(handler):
    return 503, {"error": "no"}, False


def unsigned(handler):
    return 200, {"status": "healthy"}, False


@pytest.fixture
def patient():
    with serving(Patient()) as fake:
        yield fake


@pytest.fixture
def look(patient, grader):
    """`look(mood, …)`: a beat for each mood, all due; the grader as it is afterwards."""

    def beat(*moods):
        for patient.mood in moods:
            Grader.objects.filter(pk=grader.pk).update(checked_at=None)
            jobs.check_health()
        grader.refresh_from_db()
        return grader

    Grader.objects.filter(pk=grader.pk).update(endpoint=patient.url)
    grader.refresh_from_db()
    return beat


def reasons():
    return [change.reason for change in GraderStatusChange.objects.order_by("id")]


def test_a_healthy_grader_stays_unchanged_and_the_check_is_recorded(look, patient):
    grader = look(HEALTHY, HEALTHY, HEALTHY)
    assert (grader.status, grader.troubles, grader.held_until) == ("active", [], None)
    assert (grader.health, grader.health_repeats, patient.requests_seen) == ("healthy", 3, 3)
    check = GraderCheck.objects.order_by("-id").first()
    assert (check.name, check.passed, check.detail) == ("health", True, "The grader reports that it is healthy.")
    assert check.latency_ms > 0
    assert GraderCheck.objects.count() == 3
    assert reasons() == []


@pytest.mark.parametrize("mood", [DEGRADED, UNHEALTHY, down, unsigned])
def test_one_failed_check_changes_no_status(look, mood):
    grader = look(HEALTHY, mood)
    assert (grader.status, grader.troubles, grader.held_until) == ("active", [], None)
    assert look(HEALTHY, mood, HEALTHY).status == "active"


@pytest.mark.parametrize("mood", [DEGRADED, UNHEALTHY, down, unsigned])
def test_the_first_check_alone_changes_no_status(look, mood):
    assert look(mood).status == "active"


def test_two_degraded_checks_degrade_it_and_keep_its_calls(look):
    grader = look(HEALTHY, DEGRADED, DEGRADED)
    assert (grader.status, grader.troubles, grader.held_until) == ("degraded", ["health"], None)
    assert reasons() == [f"{reports.UNWELL_REASON} The grader reports that it is degraded."]


@pytest.mark.parametrize(
    ("moods", "reason"),
    [
        ((UNHEALTHY, UNHEALTHY), "reports that it is unhealthy"),
        ((down, down), "grader_unavailable: "),
        ((unsigned, unsigned), "missing_header: "),
        ((UNHEALTHY, down), "grader_unavailable: "),
    ],
    ids=["unhealthy", "down", "unsigned", "mixed"],
)
def test_two_failed_checks_degrade_it_and_hold_its_calls(look, moods, reason):
    grader = look(HEALTHY, *moods)
    assert (grader.status, grader.troubles, grader.held_reason) == ("degraded", ["health"], pauses.UNHEALTHY)
    left = grader.held_until - timezone.now()
    assert reports.EVERY < left <= reports.PAUSE_FOR
    assert reason in reasons()[0]


def test_alternating_degraded_and_unhealthy_degrades_without_a_hold(look):
    grader = look(DEGRADED, UNHEALTHY, DEGRADED, UNHEALTHY)
    assert (grader.status, grader.held_until) == ("degraded", None)


def test_two_healthy_checks_restore_it_and_its_calls(look):
    look(UNHEALTHY, UNHEALTHY)
    grader = look(HEALTHY)
    assert (grader.status, grader.held_reason) == ("degraded", pauses.UNHEALTHY)
    grader = look(HEALTHY)
    assert (grader.status, grader.troubles, grader.held_until) == ("active", [], None)
    assert reasons()[1] == reports.WELL_REASON


def test_two_degraded_checks_release_a_held_grader(look):
    look(down, down)
    grader = look(DEGRADED, DEGRADED)
    assert (grader.status, grader.held_until) == ("degraded", None)


def test_a_hold_for_another_reason_stays(look, grader):
    until = timezone.now() + timedelta(hours=1)
    pauses.pause(grader.pk, until, pauses.CIRCUIT_OPEN)
    assert look(UNHEALTHY, UNHEALTHY, HEALTHY, HEALTHY).held_until == until


def test_a_healthy_check_also_ends_the_trouble_of_verification_and_no_other(look, grader):
    for trouble in (Trouble.VERIFICATION, Trouble.HEALTH, Trouble.CIRCUIT, Trouble.AUTH):
        status.trouble(grader.pk, trouble, "x")
    grader = look(HEALTHY, HEALTHY)
    assert (grader.status, grader.troubles) == ("degraded", ["circuit", "auth"])
    status.recovered(grader.pk, Trouble.AUTH, "x")
    status.recovered(grader.pk, Trouble.CIRCUIT, "closed")
    assert look(HEALTHY).status == "active"


def test_a_degradation_without_troubles_ends_with_two_healthy_checks(look, grader):
    Grader.objects.update(status="degraded")
    assert look(HEALTHY, HEALTHY).status == "active"


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "inactive"},
        {"verified_at": None},
        {"deleted_at": timezone.now()},
        {"kind": "rubric"},
    ],
    ids=["inactive", "unverified", "deleted", "rubric"],
)
def test_graders_out_of_service_are_not_checked(look, patient, fields):
    Grader.objects.update(**fields)
    assert look(HEALTHY, HEALTHY).status == fields.get("status", "active")
    assert patient.requests_seen == 0


def test_a_grader_switched_off_during_its_check_stays_off(look, patient, grader):
    def off(handler):
        Grader.objects.filter(pk=grader.pk).update(status="inactive", switched_off=True)
        return 200, {"status": "healthy"}, True

    Grader.objects.update(status="degraded", health="healthy")
    target = reports.targets.load(grader)
    answer = reports.calls.ask_health({grader.pk: target})[grader.pk]
    status.change(grader.pk, GraderStatus.INACTIVE, "off")
    reports.settle(grader.pk, target, answer)
    grader.refresh_from_db()
    assert grader.status == "inactive"


def test_a_signed_410_takes_it_out_of_service_at_once(look):
    grader = look(lambda handler: (410, {"error": "closed"}, True))
    assert (grader.status, grader.verified_at) == ("inactive", None)
    assert grader.gone_at is not None
    assert reasons() == [status.GONE_REASON]


def test_an_unsigned_410_is_a_failed_check(look):
    assert look(HEALTHY, lambda handler: (410, {"error": "closed"}, False)).status == "active"


def test_a_new_version_becomes_the_current_one(look, patient, grader):
    assert look(HEALTHY).version.label == "1.0.0"
    patient.version = "2.0.0"
    assert look(DEGRADED).version.label == "2.0.0"
    look(down)
    assert list(grader.versions.order_by("id").values_list("label", flat=True)) == ["1.0.0", "2.0.0"]


def clocked(offset_s):
    def answer(handler):
        body, stamp = b'{"status":"healthy"}', str(int(time.time()) + offset_s)
        signature = signing.sign(SECRET, stamp, handler.headers["X-Autotune-Request-Id"], body)
        return 200, body, False, {signing.RESPONSE_TIMESTAMP: stamp, signing.RESPONSE_SIGNATURE: signature}

    return answer


def test_a_wrong_clock_is_reported(look):
    assert look(clocked(120)).health == "healthy"
    clock = GraderCheck.objects.get(name="clock")
    assert clock.passed
    assert 118 <= clock.clock_skew_s <= 121
    assert clock.detail.endswith(" s ahead of Autotune's. Set it.")


def test_a_clock_that_is_too_far_off_fails_the_check(look):
    assert look(clocked(-301)).health == "unreachable"
    assert list(GraderCheck.objects.order_by("id").values_list("name", "passed")) == [
        ("health", False),
        ("clock", False),
    ]


def test_in_a_grace_period_a_401_is_retried_with_the_current_secret(look, patient, grader):
    patient.secret = credentials.rotate(grader)
    previous, current = (secret.key_id for secret in credentials.active_secrets(grader))

    def refuse_the_previous(handler):
        if handler.headers["X-Autotune-Key-Id"] == previous:
            return 401, {"error": "no"}, False
        return 200, {"status": "healthy"}, True

    assert look(refuse_the_previous).health == "healthy"
    assert patient.keys == [previous, current]
    assert credentials.active_secrets(grader)[0].key_id == current


def test_all_graders_are_checked_concurrently(patient, grader):
    graders = [grader, *(GraderFactory() for _ in range(3))]
    Grader.objects.update(endpoint=patient.url)
    arrived = []

    def all_there(handler):
        arrived.append(handler)
        end = time.monotonic() + 1.5
        while len(arrived) < len(graders) and time.monotonic() < end:
            time.sleep(0.005)
        return 200, {"status": "healthy" if len(arrived) == len(graders) else "unhealthy"}, True

    patient.mood = all_there
    assert reports.check_due() == 4
    assert set(Grader.objects.values_list("health", flat=True)) == {"healthy"}


def test_several_groups_are_all_checked(patient, grader, monkeypatch):
    monkeypatch.setattr(reports, "GROUP", 2)
    Grader.objects.update(endpoint=patient.url)
    for _ in range(4):
        GraderFactory(endpoint=patient.url)
    assert (reports.check_due(), patient.requests_seen) == (5, 5)


def test_a_second_run_checks_nobody_twice(patient, grader):
    Grader.objects.update(endpoint=patient.url)
    assert [reports.check_due(), reports.check_due()] == [1, 0]
    Grader.objects.update(checked_at=database_now() - reports.EARLIEST)
    assert reports.check_due() == 1


def test_an_error_for_one_grader_does_not_affect_the_others(patient, grader, monkeypatch):
    Grader.objects.update(endpoint=patient.url)
    other = GraderFactory(endpoint=patient.url)
    settle = reports.settle

    def stumble(grader_id, *more):
        if grader_id == grader.pk:
            raise RuntimeError("boom")
        settle(grader_id, *more)

    monkeypatch.setattr(reports, "settle", stumble)
    assert reports.check_due() == 2
    other.refresh_from_db()
    assert other.health == "healthy"


def test_a_request_that_could_not_be_made_is_not_the_graders_fault(look, monkeypatch):
    look(HEALTHY)

    class Broken(engine.Engine):
        def submit(self, request, tag):
            self._done.append((tag, engine.OutboundError("invalid_request", "x")))

    monkeypatch.setattr(engine, "engine", Broken)
    grader = look(HEALTHY, HEALTHY)
    assert (grader.status, grader.health) == ("active", "healthy")
    assert GraderCheck.objects.filter(passed=False).count() == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_concurrent_runs_check_different_graders(patient, owner):
    for _ in range(6):
        GraderFactory(endpoint=patient.url)
    counts = together(reports.check_due, reports.check_due, reports.check_due)
    assert (sum(counts), patient.requests_seen) == (6, 6)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_no_connection_is_held_during_a_check(patient, grader):
    held = []

    def see(handler):
        held.append(connection_of_the_job.connection is not None)
        return 200, {"status": "healthy"}, True

    connection_of_the_job = connection
    patient.mood = see
    Grader.objects.update(endpoint=patient.url)
    reports.check_due()
    assert held == [False]


def test_a_check_on_demand_counts_like_any_other(owner, look, patient, path):
    look(UNHEALTHY)
    body = owner.post(f"{path}/health").json()
    assert (body["status"], body["health"], body["troubles"]) == ("degraded", "unhealthy", ["health"])
    assert (body["heldReason"], body["heldUntil"] is not None) == ("unhealthy", True)
    assert [check["name"] for check in body["checks"]] == ["health", "health"]
    assert body["statusChanges"][0]["currentStatus"] == "degraded"
    patient.mood = HEALTHY
    assert owner.post(f"{path}/health").json()["health"] == "healthy"
    assert owner.post(f"{path}/health").json()["status"] == "active"
    assert owner.get(f"{path}/health").json()["heldUntil"] is None


def test_a_check_on_demand_of_a_grader_that_is_off_changes_nothing(owner, look, patient, path):
    Grader.objects.update(status="inactive")
    body = owner.post(f"{path}/health").json()
    assert (body["status"], body["health"], patient.requests_seen) == ("inactive", None, 1)
    assert body["checks"][0]["detail"] == "The grader reports that it is healthy."


def test_a_check_on_demand_takes_no_body(owner, look, path):
    answer = owner.post(f"{path}/health", {"force": True})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/force")


def test_the_wrong_role_gets_403_a_stranger_404_and_a_missing_key_401(colleague, api_for, owner, path):
    assert colleague("training_operator").post(f"{path}/health").status_code == 403
    assert colleague("grader_owner").post(f"{path}/health").status_code == 404
    assert api_for(role="organization_admin").post(f"{path}/health").status_code == 404
    owner.key = None
    assert owner.post(f"{path}/health").status_code == 401


def test_others_see_neither_troubles_nor_holds(api_for, owner, look, path):
    look(UNHEALTHY, UNHEALTHY)
    Grader.objects.update(visibility="listed")
    body = api_for(role="training_operator").get(f"{path}/health").json()
    assert [body[name] for name in ("health", "troubles", "heldUntil", "heldReason")] == [None] * 4
    assert body["status"] == "degraded"
    assert SECRET not in str(body)
