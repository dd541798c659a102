"""`/metrics`: facts of the database for Prometheus, for the operator's administrators and for named networks."""

from datetime import timedelta

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from autotune.webhooks.models import Delivery, Event, Webhook
from graders.models import NO_VERSION, GraderStatistic
from graders.statistics import tallies
from graders.statistics.folding import fold
from scores.models import Pulse, Review, WorkflowRun
from tests.conftest import Api
from tests.factories import CompletionFactory, GraderFactory, RewardEndpointFactory, RunFactory, TaskFactory

pytestmark = pytest.mark.django_db
PATH = "/metrics"


@pytest.fixture
def grader():
    return GraderFactory()


@pytest.fixture
def task(grader):
    return TaskFactory(organization=grader.organization, graders=[grader])


@pytest.fixture
def values(admin_api):
    """`values("autotune_workflow_runs")`: {labels: value} of a metric, fault before code; {(): value} without labels."""

    def read(name):
        answer = admin_api.get(PATH)
        assert answer.status_code == 200, answer.content
        families = {family.name: family for family in text_string_to_metric_families(answer.content.decode())}
        samples = families[name].samples
        return {
            tuple(sample.labels[label] for label in sorted(sample.labels, reverse=True)): sample.value
            for sample in samples
        }

    return read


def run(task, **fields):
    return RunFactory(completion=CompletionFactory(task=task), **fields)


def ended(task, code, *, minutes=1):
    return run(task, status="failed", error_code=code, completed_at=timezone.now() - timedelta(minutes=minutes))


# --- who may read ---------------------------------------------------------------------------------------------------


def test_it_needs_a_key(client):
    answer = client.get("/api/v1/metrics")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


def test_administrators_of_the_operating_organization_may_read(admin_api, api_for, operating):
    assert admin_api.get(PATH).status_code == 200
    assert api_for(organization=operating, role="organization_admin").get(PATH).status_code == 200


@pytest.mark.parametrize("role", ["training_operator", "grader_owner", "reviewer"])
def test_other_roles_of_the_operating_organization_may_not(api_for, operating, role):
    assert api_for(organization=operating, role=role).get(PATH).status_code == 403


@pytest.mark.parametrize("role", ["admin", "organization_admin"])
def test_other_organizations_may_not(api_for, operating, role):
    assert api_for(role=role).get(PATH).status_code == 403


def test_a_network_of_the_settings_needs_no_key(settings):
    settings.AUTOTUNE_METRICS_NETWORKS = ["192.0.2.0/24", "2001:db8::/32"]
    for address, status in [
        ("192.0.2.7", 200), ("2001:db8::1", 200), ("::ffff:192.0.2.7", 200), ("192.0.3.7", 401), ("", 401), ("x", 401),
    ]:  # fmt: skip
        assert Api().client.get("/api/v1/metrics", REMOTE_ADDR=address).status_code == status, address


def test_the_address_behind_a_proxy_counts_only_if_the_proxy_is_trusted(settings):
    settings.AUTOTUNE_METRICS_NETWORKS = ["192.0.2.0/24"]
    proxied = {"REMOTE_ADDR": "10.0.0.1", "headers": {"X-Forwarded-For": "192.0.2.7"}}
    assert Api().client.get("/api/v1/metrics", **proxied).status_code == 401
    settings.AUTOTUNE_TRUSTED_PROXIES = ["10.0.0.0/8"]
    assert Api().client.get("/api/v1/metrics", **proxied).status_code == 200


def test_by_default_no_network_is_named(settings):
    assert settings.AUTOTUNE_METRICS_NETWORKS == []


# --- its content ----------------------------------------------------------------------------------------------------


def test_it_is_the_text_form_whatever_prometheus_asks_for(admin_api):
    accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1"
    answer = admin_api.get(PATH, accept=accept)
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = list(text_string_to_metric_families(answer.content.decode()))
    assert all(family.documentation and family.type == "gauge" for family in families)
    assert all(family.name.startswith("autotune_") for family in families)


def test_an_empty_installation_has_zeros(values):
    assert values("autotune_moving") == {(): 1}
    assert values("autotune_workflow_runs") == dict.fromkeys(
        [("pending",), ("running",), ("sleeping",), ("waiting",), ("failed",)], 0
    )
    assert values("autotune_graders") == {("active",): 0, ("inactive",): 0, ("degraded",): 0}
    assert values("autotune_platform_failure_ratio") == {(): 0}
    assert values("autotune_oldest_due_age_seconds") == {(): 0}


def test_the_facts_of_moving(values, task):
    Pulse.objects.create(name="sweep", at=timezone.now() - timedelta(seconds=90))
    old = timezone.now() - timedelta(seconds=12)
    run(task, created_at=old)
    run(task, status="running", leased_until=old)
    Event.objects.create(organization=task.organization, kind="score.completed", created_at=old)
    assert values("autotune_moving") == {(): 0}
    assert values("autotune_moving_check") == {
        ("sweep",): 0,
        ("due",): 1,
        ("leases",): 1,
        ("outbox",): 1,
        ("audit",): 1,
        ("erasures",): 1,
        ("retention",): 1,
    }
    assert values("autotune_last_sweep_age_seconds")[()] == pytest.approx(90, abs=3)
    assert values("autotune_oldest_due_age_seconds")[()] == pytest.approx(12, abs=3)
    assert values("autotune_outbox_lag_seconds")[()] == pytest.approx(12, abs=3)
    assert values("autotune_expired_leases") == {(): 1}


def test_runs_by_status_and_failed_ones_by_fault_and_code(values, task):
    for status in ("pending", "pending", "running", "sleeping", "waiting", "completed"):
        run(task, status=status, leased_until=timezone.now() + timedelta(minutes=1))
    ended(task, "timeout", minutes=600)
    ended(task, "timeout")
    ended(task, "cancelled")
    assert values("autotune_workflow_runs") == {
        ("pending",): 2, ("running",): 1, ("sleeping",): 1, ("waiting",): 1, ("failed",): 3,
    }  # fmt: skip
    assert values("autotune_failed_workflow_runs") == {
        ("grader", "timeout"): 2,
        ("caller", "cancelled"): 1,
        ("platform", ""): 0,
    }
    assert values("autotune_failed_workflow_runs_last_hour") == {
        ("grader", "timeout"): 1, ("caller", "cancelled"): 1, ("platform", ""): 0,
    }  # fmt: skip


def test_scores_and_failed_attempts_of_the_last_hour_folded_or_not(values, grader):
    def record():
        tallies.record(
            grader.pk, None, values=[0.5] * 3, latency_ms=[1.0] * 3, errors={"timeout": 2, "bad_signature": 1}
        )

    record()
    fold()
    record()
    old = timezone.now() - timedelta(hours=2)
    GraderStatistic.objects.create(grader=grader, version_id=NO_VERSION, start=old, scored=100, errors={"timeout": 9})
    assert values("autotune_scores_last_hour") == {(): 6}
    assert values("autotune_failed_attempts_last_hour") == {
        ("grader", "bad_signature"): 2, ("grader", "timeout"): 4, ("caller", ""): 0, ("platform", ""): 0,
    }  # fmt: skip


def test_the_platforms_share_is_that_of_the_runs_that_ended(values, task, grader):
    tallies.record(grader.pk, None, values=[0.5] * 97, latency_ms=[1.0] * 97, errors={})
    ended(task, "text_unreadable")
    ended(task, "timeout")
    ended(task, "cancelled")
    ended(task, "text_unreadable", minutes=61)
    assert values("autotune_platform_failure_ratio") == {(): pytest.approx(0.01)}


def test_an_unlisted_code_counts_as_the_platforms(values, task):
    ended(task, "no_such_code")
    assert values("autotune_platform_failure_ratio") == {(): 1}
    assert values("autotune_failed_workflow_runs")["platform", "no_such_code"] == 1


def test_graders_by_status(values):
    for status in ("active", "active", "degraded"):
        GraderFactory(status=status)
    GraderFactory(deleted_at=timezone.now())
    assert values("autotune_graders") == {("active",): 2, ("inactive",): 0, ("degraded",): 1}


def test_deliveries_and_open_reviews(values, task):
    webhook = Webhook.objects.create(
        organization=task.organization, created_by=task.created_by, url="https://x.example.org", secret="s"
    )
    for status in ("pending", "delivered", "delivered", "parked"):
        event = Event.objects.create(
            organization=task.organization, kind="score.completed", fanned_out_at=timezone.now()
        )
        Delivery.objects.create(webhook=webhook, event=event, status=status)
    waiting = run(task, status="waiting", waits_for="review")
    Review.objects.create(
        organization=task.organization, run=waiting, completion=waiting.completion, task=task, grader=waiting.grader,
        grader_version=waiting.grader.version, value=0.5, confidence=0.1, expires_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    assert values("autotune_deliveries_pending") == {(): 1}
    assert values("autotune_deliveries_last_hour") == {("pending",): 1, ("delivered",): 2, ("parked",): 1}
    assert values("autotune_reviews_open") == {(): 1}
    assert WorkflowRun.objects.count() == 1


def test_the_samples_of_reward_endpoints_are_counted_by_protocol(values, task):
    RewardEndpointFactory(task=task, answered=10, unscored_count=3)
    RewardEndpointFactory(task=task, answered=5, unscored_count=1)
    RewardEndpointFactory(task=task, protocol="slime", answered=2)
    samples = values("autotune_reward_endpoint_samples")
    assert (samples["scored", "openrlhf"], samples["neutral", "openrlhf"]) == (11, 4)
    assert (samples["scored", "slime"], samples["neutral", "slime"], samples["scored", "verify"]) == (2, 0, 0)
