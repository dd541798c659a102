"""Save the outcomes of tries in groups, and disable endpoints that are gone or have failed for too long.

A success always counts, even from an attempt whose lease has ended. A failure counts only from the attempt that holds
the lease.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.db import connection, models, transaction

from autotune.core import clock
from autotune.core.crypto.encryption import cipher_for
from autotune.core.crypto.fields import encrypted
from autotune.webhooks import endpoints
from autotune.webhooks.delivery import backoff
from autotune.webhooks.delivery.attempts import DeliveryOutcome
from autotune.webhooks.models import Delivery, Webhook
from autotune.webhooks.states import DeliveryStatus, EventKind

LOGGED: Final = 10  # tries that a delivery's log keeps
DISABLE_AFTER: Final = timedelta(days=5)
WRITTEN: Final = ("status", "failures", "next_at", "leased_until", "log", "ended_at", "id")
GONE_REASON: Final = "The endpoint answered 410 Gone."
FAILING_REASON: Final = "Every try of the last five days failed."
_LOG = encrypted(Delivery, "log")


def settle(outcomes: Sequence[DeliveryOutcome]) -> None:
    """Save the outcomes of these tries, and disable the endpoints that are gone or have failed for too long."""
    now = clock.database_now()
    with transaction.atomic():
        _settle(outcomes, now)
        _note_endpoints(outcomes, now)
    _disable_hopeless(outcomes, now)


def _settle(outcomes: Sequence[DeliveryOutcome], now: datetime) -> None:
    keys = {outcome.trial.delivery_id for outcome in outcomes}
    pending = Delivery.objects.pending().filter(pk__in=keys).order_by("pk").select_for_update(no_key=True)
    rows = {row.pk: row for row in pending}
    active = set(
        Webhook.objects.active().filter(pk__in={outcome.trial.webhook_id for outcome in outcomes}).values_list("pk")
    )
    written = {}
    for outcome in outcomes:
        row = rows.get(outcome.trial.delivery_id)
        if row is None or row.status != DeliveryStatus.PENDING:
            continue
        if outcome.delivered:
            row.status = DeliveryStatus.DELIVERED
        elif row.attempt != outcome.trial.attempt:
            continue
        else:
            _after_failure(row, outcome, now, active=(outcome.trial.webhook_id,) in active)
        row.leased_until = None
        row.ended_at = None if row.status == DeliveryStatus.PENDING else now
        log = [*row.tries, _entry(outcome)][-LOGGED:]
        row.log = _LOG.envelope(cipher_for(outcome.trial.organization_id), row.pk, log)
        written[row.pk] = row
    _write(written.values())


def _write(rows: Iterable[Delivery]) -> None:
    """Update all rows by one statement, sent once: a tenth of the work of bulk_update."""
    fields = [cast(models.Field, Delivery._meta.get_field(name)) for name in WRITTEN]
    with connection.cursor() as cursor:
        cursor.executemany(
            f"update webhooks_delivery set {', '.join(f'{name} = %s' for name in WRITTEN[:-1])} where id = %s",  # noqa: S608
            [[field.get_db_prep_save(row.__dict__[field.attname], connection) for field in fields] for row in rows],
        )


def _after_failure(row: Delivery, outcome: DeliveryOutcome, now: datetime, *, active: bool) -> None:
    """Schedule the next try, or park the delivery: after three days, if the endpoint is off, or if it was a test."""
    row.failures += 1
    later = backoff.next_try(row.failures, row.queued_at, now, requested_wait=outcome.requested_wait)
    if later is None or outcome.final or outcome.gone or not active or outcome.trial.kind == EventKind.TEST:
        row.status = DeliveryStatus.PARKED
    else:
        row.next_at = later


def _entry(outcome: DeliveryOutcome) -> dict[str, Any]:
    return {
        "at": clock.wire(outcome.at),
        "status": outcome.status,
        "latencyMs": round(outcome.latency_ms, 1),
        "error": outcome.error or None,
        "excerpt": outcome.excerpt,
    }


def _note_endpoints(outcomes: Sequence[DeliveryOutcome], now: datetime) -> None:
    """Note since when an endpoint fails; a success clears it. The order of ids prevents deadlocks."""
    real = [outcome for outcome in outcomes if outcome.trial.kind != EventKind.TEST and not outcome.final]
    well = {outcome.trial.webhook_id for outcome in real if outcome.delivered}
    for webhook_id in sorted({outcome.trial.webhook_id for outcome in real}):
        row = Webhook.objects.filter(pk=webhook_id)
        if webhook_id in well:
            row.filter(failing_since__isnull=False).update(failing_since=None)
        else:
            row.filter(failing_since=None).update(failing_since=now)


def _disable_hopeless(outcomes: Sequence[DeliveryOutcome], now: datetime) -> None:
    failed = [outcome for outcome in outcomes if not outcome.delivered and outcome.trial.kind != EventKind.TEST]
    if not failed:
        return
    gone = {outcome.trial.webhook_id for outcome in failed if outcome.gone}
    for webhook_id in sorted(gone):
        endpoints.disable(webhook_id, GONE_REASON)
    failing = Webhook.objects.active().filter(
        pk__in={outcome.trial.webhook_id for outcome in failed} - gone, failing_since__lte=now - DISABLE_AFTER
    )
    for webhook_id in failing.values_list("pk", flat=True):
        endpoints.disable(webhook_id, FAILING_REASON)
