"""`/metrics` for Prometheus, read from the database at each scrape, so that every process reports the same.

Events are reported as gauges of the last hour: counters of all time would have to read all rows.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Count, Sum
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from autotune.access import policy
from autotune.access.audit import metrics as audit
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.api.middleware import within
from autotune.core.crypto import damage
from autotune.site.status import moving
from autotune.webhooks.models import Delivery
from autotune.webhooks.states import DeliveryStatus
from graders.models import Grader, GraderStatistic, Tally
from graders.states import GraderStatus
from scores.models import Review, RewardEndpoint, WorkflowRun
from scores.results.failure_codes import fault
from scores.states import FINAL, ReviewStatus, RewardProtocol, RunStatus

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
HOUR: Final = timedelta(hours=1)
UNFINISHED: Final = tuple(status for status in RunStatus if status not in FINAL)  # each has its partial index
FAULTS: Final = ("grader", "caller", "platform")


def may_read(principal: Principal | None, address: str) -> bool:
    """Return whether the call is from AUTOTUNE_METRICS_NETWORKS, or its key administers the operating organization."""
    if within(address, [ipaddress.ip_network(text) for text in settings.AUTOTUNE_METRICS_NETWORKS]):
        return True
    if principal is None or not principal.organization.operating:
        return False
    return policy.reach(principal, "organizations", "read") in {"organization", "all"}


def text() -> bytes:
    """Return the metrics in the text format, version 0.0.4."""
    registry = CollectorRegistry()
    registry.register(DatabaseFacts())
    return generate_latest(registry)


class DatabaseFacts(Collector):
    def collect(self) -> Iterable[GaugeMetricFamily]:
        snapshot = moving.take_snapshot()
        yield from _moving(moving.judged(snapshot))
        yield from _runs()
        yield from _last_hour(snapshot.scores.now - HOUR)
        graders = Grader.objects.live().values_list("status").annotate(Count("pk")).order_by()
        yield _by("autotune_graders", "Graders that are not deleted.", "status", _all(GraderStatus.values, graders))
        yield from _deliveries(snapshot.scores.now - HOUR)
        reviews = Review.objects.filter(status=ReviewStatus.OPEN).count()
        yield _one("autotune_reviews_open", "Open reviews: runs that wait for a person.", reviews)
        yield _endpoints()
        yield _damaged()
        lost = audit.lost_since(snapshot.scores.now - HOUR)
        yield _one("autotune_audit_lost_last_hour", "Events of reads that could not be written in the last hour.", lost)


def _moving(state: moving.Moving) -> Iterable[GaugeMetricFamily]:
    checks = {check.name: float(check.status == "ok") for check in state.checks}
    yield _one("autotune_moving", "1 if due work is being processed; 0 if /moving answers 503.", state.status == "ok")
    yield _by("autotune_moving_check", "1 for each check of /moving that passed.", "check", checks)
    yield _one("autotune_oldest_due_age_seconds", "Age of the oldest due run; 0 if none is.", state.oldest_due_age_s)
    yield _one("autotune_expired_leases", "Runs whose worker is lost and that no sweep returned.", state.expired_leases)
    yield _one("autotune_outbox_lag_seconds", "Age of the oldest event not fanned out; 0 if none.", state.outbox_lag_s)
    yield _one("autotune_audit_lag_seconds", "Age of the oldest event not sealed; 0 if none.", state.audit_lag_s)
    if state.last_sweep_age_s is not None:
        yield _one("autotune_last_sweep_age_seconds", "Seconds since a worker last swept.", state.last_sweep_age_s)


def _runs() -> Iterable[GaugeMetricFamily]:
    counts = {str(status): WorkflowRun.objects.filter(status=status).count() for status in UNFINISHED}
    failed = WorkflowRun.objects.filter(status=RunStatus.FAILED).values_list("error_code").annotate(Count("pk"))
    by_code = dict(failed.order_by())
    counts[RunStatus.FAILED.value] = sum(by_code.values())
    yield _by("autotune_workflow_runs", "Workflow runs by status; completed ones are not counted.", "status", counts)
    yield _by_code("autotune_failed_workflow_runs", "Failed workflow runs, which can be retried.", by_code)


def _last_hour(since: datetime) -> Iterable[GaugeMetricFamily]:
    """Scores, failed attempts and failed runs of the last hour."""
    scored, attempts = _counted(since)
    ended = WorkflowRun.objects.filter(status=RunStatus.FAILED, completed_at__gte=since)
    failed: Counter[str] = Counter(dict(ended.values_list("error_code").annotate(Count("pk")).order_by()))
    platform_failures = sum(count for code, count in failed.items() if fault(code) == "platform")
    ended_in_all = scored + failed.total()
    yield _one("autotune_scores_last_hour", "Completions that a grader scored in the last hour.", scored)
    yield _by_code("autotune_failed_attempts_last_hour", "Failed attempts of the last hour, also if retried.", attempts)
    yield _by_code("autotune_failed_workflow_runs_last_hour", "Workflow runs that failed in the last hour.", failed)
    yield _one(
        "autotune_platform_failure_ratio",
        "Share of the runs ended in the last hour that failed because of the platform; promised: under 0.01.",
        platform_failures / ended_in_all if ended_in_all else 0,
    )


def _counted(since: datetime) -> tuple[int, Counter[str]]:
    """Return scores, and failed attempts by code, of all graders' counters since then, from one snapshot.

    The query names every grader, since the index of the folded counters begins with the grader.
    """
    graders = list(Grader.objects.values_list("pk", flat=True))
    folded = GraderStatistic.objects.filter(grader_id__in=graders, start__gte=since).values_list("scored", "errors")
    fresh = Tally.objects.filter(at__gte=since).values_list("scored", "errors")
    scored, errors = 0, Counter[str]()
    for count, by_code in folded.union(fresh, all=True):
        scored += count
        errors.update(by_code)
    return scored, errors


def _deliveries(since: datetime) -> Iterable[GaugeMetricFamily]:
    pending = Delivery.objects.pending().count()
    yield _one("autotune_deliveries_pending", "Pending deliveries to webhooks.", pending)
    deliveries = (
        Delivery.objects.filter(pk__gte=ids.first_of(since)).values_list("status").annotate(Count("pk")).order_by()
    )
    by_status = _all(DeliveryStatus.values, deliveries)
    yield _by("autotune_deliveries_last_hour", "Deliveries that began in the last hour.", "status", by_status)


def _endpoints() -> GaugeMetricFamily:
    """Count the samples answered so far. A growing share of `neutral` means a training run that learns nothing."""
    family = GaugeMetricFamily(
        "autotune_reward_endpoint_samples",
        "Samples that the existing reward endpoints answered; `neutral` ones had no score.",
        labels=["protocol", "reward"],
    )
    sums = RewardEndpoint.objects.values_list("protocol").annotate(Sum("answered"), Sum("unscored_count")).order_by()
    by_protocol = {protocol: (answered, missing) for protocol, answered, missing in sums}
    for protocol in RewardProtocol.values:
        answered, missing = by_protocol.get(protocol, (0, 0))
        family.add_metric([protocol, "scored"], answered - missing)
        family.add_metric([protocol, "neutral"], missing)
    return family


def _damaged() -> GaugeMetricFamily:
    """Show where values cannot be decrypted, never their content or owner."""
    family = GaugeMetricFamily(
        "autotune_unreadable_values",
        "Encrypted values on record that could not be decrypted; a data key counts once for all values under it.",
        labels=["table", "column"],
    )
    for (table, column), count in damage.counts().items():
        family.add_metric([table, column], count)
    return family


def _all(names: Iterable[str], counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return {**dict.fromkeys(names, 0), **dict(counts)}


def _one(name: str, help_text: str, value: float | None) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_text, value=float(value or 0))


def _by(name: str, help_text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, help_text, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def _by_code(name: str, help_text: str, counts: Mapping[str, int]) -> GaugeMetricFamily:
    """Report counts by code and by who is responsible; each `fault` at least once, so that sums are never missing."""
    family = GaugeMetricFamily(name, help_text, labels=["fault", "code"])
    for code, count in sorted(counts.items()):
        family.add_metric([fault(code), code], count)
    for missing in sorted(set(FAULTS) - {fault(code) for code in counts}):
        family.add_metric([missing, ""], 0)
    return family
