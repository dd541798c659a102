"""Graders through the client: their shapes, and what the API makes of each call."""

from datetime import UTC, datetime, timedelta

import pytest
from autotune_sdk import Capabilities, ConflictError, NotFound

from tests.support.submitting import is_recent, items

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def test_a_grader_has_the_clients_shape(client, grader, key):
    assert (grader.name, grader.description, grader.kind, grader.status) == (
        "Length", "How long it is.", "endpoint", "active",
    )  # fmt: skip
    assert grader.capabilities == Capabilities(50, True, True, False, 5, ("length",))
    assert (grader.limits.rate_per_minute, grader.limits.max_concurrency, grader.limits.timeout_ms) == (None, 4, 4_000)
    assert (grader.authentication.scheme, grader.authentication.previous_key_id) == ("hmac-sha256", None)
    assert grader.authentication.key_id.startswith("gkey_")
    assert (grader.pins, grader.rubric, grader.visibility) == ((), None, "private")
    assert (grader.owner[:4], grader.created_by[:5], grader.version[:8]) == ("org_", "user_", "graderv_")
    assert is_recent(grader.verified_at)
    assert is_recent(grader.created_at)
    assert [row.id for row in client.graders.list(search="leng", status="active", domain="length")] == [grader.id]


def test_a_verification_reports_each_check(client, grader):
    result = client.graders.verify(grader.id)
    assert result.verified
    assert {check.name for check in result.checks} >= {"health", "score"}
    assert all(check.passed for check in result.checks)


def test_limits_are_changed_one_by_one(client, grader):
    changed = client.graders.update(grader.id, limits={"timeout_ms": 1_000}, description=None)
    assert (changed.grader.limits.timeout_ms, changed.grader.limits.max_concurrency) == (1_000, 4)
    assert (changed.grader.description or None, changed.credentials) == (None, None)


def test_another_address_makes_a_new_secret(client, grader):
    changed = client.graders.update(grader.id, endpoint="https://grader.example.org/v1")
    assert changed.credentials.shared_secret.startswith("atgs_")
    assert (changed.grader.status, changed.grader.verified_at) == ("inactive", None)


def test_a_rotation_has_a_grace_period_and_a_second_needs_force(client, grader):
    first = client.graders.rotate_secret(grader.id, grace_hours=1)
    now = client.graders.get(grader.id).authentication
    assert now.previous_key_id == grader.authentication.key_id
    assert timedelta(minutes=59) < now.previous_valid_until - datetime.now(UTC) <= timedelta(hours=1)
    with pytest.raises(ConflictError) as refused:
        client.graders.rotate_secret(grader.id)
    assert refused.value.code == "rotation_in_progress"
    assert client.graders.rotate_secret(grader.id, force=True).shared_secret != first.shared_secret


def test_statistics_health_and_versions_have_the_clients_shapes(client, grader, task, score):
    client.completions.submit_batch(items(4), task_id=task.id)
    score()
    stats = client.graders.stats(grader.id, window="all")
    assert (stats.total_scored, stats.error_rate, stats.errors) == (4, 0, ())
    assert stats.avg_score == pytest.approx(0.015)
    assert len(stats.score_distribution) == 10
    assert stats.avg_latency_ms > 0
    assert client.graders.health(grader.id)
    assert client.graders.check_health(grader.id)["checks"][0]["passed"]
    (version,) = client.graders.versions(grader.id)
    assert (version.id, version.label, version.scored) == (grader.version, "1.0.0", 4)
    assert is_recent(version.first_seen_at)


def test_a_grader_in_a_panel_cannot_be_deleted(client, grader, task):
    with pytest.raises(ConflictError):
        client.graders.delete(grader.id)
    client.tasks.delete(task.id)
    client.graders.delete(grader.id)
    with pytest.raises(NotFound):
        client.graders.get(grader.id)
