"""POST /graders/:id/verify against real graders on the loopback."""

import json
import time
from datetime import timedelta

import pytest
from autotune_sdk.grader import CannotJudge
from django.utils import timezone
from werkzeug import Response

from autotune.core import clock
from autotune.core.errors import Conflict, NotFound
from graders import credentials, pauses, status, targets, versions
from graders.gateway import signing
from graders.health import reports, verification
from graders.models import Grader, GraderCheck, GraderStatusChange
from graders.states import Trouble
from tests.factories import SECRET


@pytest.fixture
def registered(owner, loopback):
    """Register a grader at a URL: (path, secret)."""

    def register(url, **capabilities):
        answer = owner.post("/graders", {"name": "Live", "endpoint": url, "capabilities": capabilities})
        assert answer.status_code == 201, answer.content
        body = answer.json()
        return f"/graders/{body['grader']['id']}", body["credentials"]["sharedSecret"]

    return register


def test_a_good_grader_becomes_active(owner, registered, serve, verify):
    live = serve(SECRET)
    path, secret = registered(live.url, maxBatchSize=100)
    live.kit.secrets.__init__(secret, None)
    verified, checks = verify(owner, path)
    assert verified
    assert list(checks) == ["health", "clock", "capabilities", "score"]
    assert all(check["passed"] for check in checks.values())
    assert checks["health"]["latencyMs"] > 0
    assert live.seen == [verification.SAMPLE_PROMPT]
    grader = owner.get(path).json()["grader"]
    assert grader["status"] == "active"
    assert grader["verifiedAt"] is not None
    assert grader["version"].startswith("graderv_")
    assert Grader.objects.get().version.label == "2.1.0"
    assert GraderCheck.objects.count() == 4
    change = GraderStatusChange.objects.get()
    assert (change.previous, change.current, change.reason) == ("inactive", "active", verification.VERIFIED)


def test_verifying_twice_changes_nothing_more(owner, path, serve, point_at, grader, verify):
    point_at(serve(SECRET).url)
    assert verify(owner, path)[0] is True
    assert verify(owner, path)[0] is True
    assert GraderStatusChange.objects.count() == 1
    assert grader.versions.filter(label="2.1.0").count() == 1


@pytest.mark.parametrize("secret", [SECRET, "atgs_" + "another" * 8])
def test_a_verification_counts_as_a_health_check(owner, path, serve, point_at, grader, verify, secret):
    point_at(serve(secret).url)
    before = clock.database_now()
    verify(owner, path)
    grader.refresh_from_db()
    assert before <= grader.checked_at <= clock.database_now()
    assert reports.check_due() == 0, "the next look is due in five minutes"


def test_another_secret_fails_and_stays_inactive(owner, path, serve, point_at, verify):
    point_at(serve("atgs_" + "another" * 8).url)
    verified, checks = verify(owner, path)
    assert not verified
    assert checks["health"]["passed"] is False
    assert checks["health"]["detail"].startswith("auth_failed: ")
    assert checks["score"]["detail"] == "Not tried, because /health did not pass."
    assert owner.get(path).json()["grader"]["status"] == "inactive"
    assert not GraderStatusChange.objects.exists()


def test_an_address_that_does_not_answer_fails(owner, path, point_at, verify):
    point_at("http://127.0.0.1:1025")
    verified, checks = verify(owner, path)
    assert (verified, checks["health"]["passed"]) == (False, False)


def test_an_address_that_is_not_allowed_is_not_called(owner, path, httpserver, point_at, settings, verify):
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = ()
    point_at(f"http://127.0.0.1:{httpserver.port}")
    verified, checks = verify(owner, path)
    assert not verified
    assert checks["health"]["detail"].startswith("address_refused: ")
    assert httpserver.log == []


def test_an_unsigned_health_fails_and_its_body_is_not_shown(owner, path, httpserver, point_at, verify):
    httpserver.expect_request("/health").respond_with_json({"status": "healthy", "version": "INNER-PAGE"})
    point_at(f"http://127.0.0.1:{httpserver.port}")
    verified, checks = verify(owner, path)
    assert not verified
    assert checks["health"]["detail"].startswith("missing_header: ")
    assert "INNER-PAGE" not in json.dumps(checks)
    assert [request.path for request, _ in httpserver.log] == ["/health"]


def test_an_unhealthy_grader_is_not_verified(owner, path, serve, point_at, verify):
    live = serve(SECRET)
    live.kit.status = "unhealthy"
    point_at(live.url)
    verified, checks = verify(owner, path)
    assert (verified, checks["health"]["passed"], live.seen) == (False, False, [])
    assert "unhealthy" in checks["health"]["detail"]


def test_a_degraded_grader_is_verified_as_degraded(owner, path, serve, point_at, verify):
    live = serve(SECRET)
    live.kit.status = "degraded"
    point_at(live.url)
    assert verify(owner, path)[0] is True
    assert owner.get(path).json()["grader"]["status"] == "degraded"


def test_a_failing_score_is_not_verified(owner, path, serve, point_at, verify):
    def fail(completion):
        raise RuntimeError("boom")

    point_at(serve(SECRET, score=fail).url)
    verified, checks = verify(owner, path)
    assert (verified, checks["health"]["passed"], checks["score"]["passed"]) == (False, True, False)
    assert "boom" not in json.dumps(checks)


def test_a_grader_that_cannot_judge_the_sample_is_verified(owner, path, serve, point_at, verify):
    def refuse(completion):
        raise CannotJudge(f"only contracts; {SECRET}")

    point_at(serve(SECRET, score=refuse).url)
    verified, checks = verify(owner, path)
    assert verified, checks
    assert "only contracts" in checks["score"]["detail"]
    assert SECRET not in json.dumps(checks)


def test_differences_from_the_registration_are_reported(owner, path, serve, point_at, verify):
    live = serve(SECRET, max_batch_size=7, domains=("law",), supports_dimensions=True)
    point_at(live.url)
    verified, checks = verify(owner, path)
    assert verified
    detail = checks["capabilities"]["detail"]
    assert "maxBatchSize is 7, registered 100" in detail
    assert "supportsDimensions is true, registered false" in detail
    assert "domains differ" in detail


def test_a_grader_that_reports_no_version_gets_one(owner, path, serve, point_at, grader, verify):
    live = serve(SECRET)
    original_health = live.kit.health

    live.kit.health = lambda: {**original_health(), "version": None}
    point_at(live.url)
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert grader.version.label == versions.UNREPORTED


def test_a_new_version_becomes_current(owner, path, serve, point_at, grader, verify):
    live = serve(SECRET)
    point_at(live.url)
    verify(owner, path)
    live.kit.version = "3.0.0"
    verify(owner, path)
    grader.refresh_from_db()
    assert grader.version.label == "3.0.0"


def clocked(httpserver, secret, offset):
    """A hand-made grader whose clock is off."""

    def answer(request):
        request_id = request.headers["X-Autotune-Request-Id"]
        body = {"status": "healthy", "version": "1"}
        if request.path == "/score":
            body = {"requestId": request_id, "score": {"value": 1, "confidence": 1}}
        raw, stamp = json.dumps(body).encode(), str(int(time.time()) + offset)
        return Response(
            raw,
            content_type="application/json",
            headers={
                signing.RESPONSE_TIMESTAMP: stamp,
                signing.RESPONSE_SIGNATURE: signing.sign(secret, stamp, request_id, raw),
            },
        )

    httpserver.expect_request("/health").respond_with_handler(answer)
    httpserver.expect_request("/score").respond_with_handler(answer)
    return f"http://127.0.0.1:{httpserver.port}"


@pytest.mark.parametrize(("offset", "side"), [(120, "ahead of"), (-120, "behind")])
def test_a_skewed_clock_is_reported_and_tolerated(owner, path, httpserver, point_at, offset, side, verify):
    point_at(clocked(httpserver, SECRET, offset))
    verified, checks = verify(owner, path)
    assert verified
    assert side in checks["clock"]["detail"]
    assert abs(GraderCheck.objects.get(name="clock").clock_skew_s - offset) < 5


@pytest.mark.parametrize("offset", [400, -400])
def test_a_clock_that_is_too_far_off_fails(owner, path, httpserver, point_at, offset, verify):
    point_at(clocked(httpserver, SECRET, offset))
    verified, checks = verify(owner, path)
    assert (verified, checks["clock"]["passed"], checks["health"]["passed"]) == (False, False, False)


def test_in_a_grace_period_a_401_is_retried_with_the_current_secret(owner, path, serve, point_at, grader, verify):
    live = serve(SECRET)
    point_at(live.url)
    new = owner.post(f"{path}/rotate-secret").json()["credentials"]["sharedSecret"]
    live.kit.secrets.__init__(new, None)
    verified, checks = verify(owner, path)
    assert verified, checks
    assert [secret.secret for secret in credentials.active_secrets(grader)] == [new, SECRET]


def test_a_failed_verification_degrades_an_active_grader_and_a_successful_one_restores_it(
    owner, path, serve, point_at, verify
):
    live = serve(SECRET)
    point_at(live.url)
    verify(owner, path)
    live.kit.status = "unhealthy"
    assert verify(owner, path)[0] is False
    assert owner.get(path).json()["grader"]["status"] == "degraded"
    live.kit.status = "healthy"
    assert verify(owner, path)[0] is True
    assert owner.get(path).json()["grader"]["status"] == "active"


@pytest.mark.parametrize(
    "change",
    [lambda api, path: api.patch(path, {"endpoint": "http://127.0.0.1:1026"}), lambda api, path: api.delete(path)],
)
def test_a_grader_changed_or_deleted_during_its_verification_is_not_verified(owner, path, serve, point_at, change):
    point_at(serve(SECRET).url)
    grader = Grader.objects.get()
    target = targets.load(grader)
    probe = verification.run(grader, target)
    assert probe.verified
    assert change(owner, path).status_code in (200, 204)
    with pytest.raises((Conflict, NotFound)) as refused:
        verification.settle(grader, target, probe)
    assert refused.value.code in ("changed_meanwhile", "not_found")
    assert Grader.objects.get().status == "inactive"
    assert not GraderCheck.objects.exists()


def test_a_successful_verification_ends_every_trouble_except_an_open_circuit(
    owner, path, serve, point_at, grader, verify
):
    point_at(
        serve(SECRET).url, status="degraded", troubles=["health", "auth", "verification", "circuit"], auth_failures=3
    )
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert (grader.status, grader.troubles, grader.auth_failures) == ("degraded", ["circuit"], 0)
    status.recovered(grader.pk, Trouble.CIRCUIT, "closed")
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert grader.status == "active"


def test_a_successful_verification_releases_a_held_grader(owner, path, serve, point_at, grader, verify):
    point_at(serve(SECRET).url, status="degraded", troubles=["health"], health="unhealthy")
    pauses.pause(grader.pk, timezone.now() + timedelta(minutes=6), pauses.UNHEALTHY)
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert (grader.status, grader.health, grader.held_until) == ("active", "healthy", None)


def test_a_grader_that_its_owner_switched_off_is_verified_and_stays_off(owner, path, serve, point_at, grader, verify):
    point_at(serve(SECRET).url)
    verify(owner, path)
    owner.patch(path, {"status": "inactive"})
    Grader.objects.update(verified_at=None)
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert (grader.status, grader.verified_at is not None) == ("inactive", True)
    assert owner.patch(path, {"status": "active"}).json()["grader"]["status"] == "active"


def test_a_verification_returns_a_gone_grader_to_service(owner, path, serve, point_at, grader, verify):
    point_at(serve(SECRET).url)
    verify(owner, path)
    status.note_gone(grader.pk)
    assert verify(owner, path)[0] is True
    grader.refresh_from_db()
    assert (grader.status, grader.gone_at) == ("active", None)


def test_a_body_is_refused_and_an_empty_object_accepted(owner, path, serve, point_at):
    point_at(serve(SECRET).url)
    answer = owner.post(f"{path}/verify", {"force": True})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/force")
    assert owner.post(f"{path}/verify", {}).status_code == 200


def test_the_wrong_role_gets_403_a_stranger_404_and_a_missing_key_401(colleague, api_for, owner, path):
    assert colleague("training_operator").post(f"{path}/verify").status_code == 403
    assert colleague("grader_owner").post(f"{path}/verify").status_code == 404
    assert api_for(role="organization_admin").post(f"{path}/verify").status_code == 404
    owner.key = None
    assert owner.post(f"{path}/verify").status_code == 401
