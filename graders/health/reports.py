"""Check graders' health at /health, every five minutes and on demand, and change their status by the results.

A result counts when two health checks in a row agree on it, so one lost packet changes nothing. Two that are not
`healthy` make the grader degraded; two `healthy` ones end that. Two that are down (`unhealthy`, or no answer with a
valid signature) pause its calls; two that are not down end the pause. A pause lasts a minute longer than the time to
the next check, and each check renews it, so a pause ends if the checks stop.

No transaction is open and no database connection is held during the calls.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from autotune.core.clock import database_now
from autotune.core.connections import is_away, release
from autotune.core.errors import AutotuneError
from autotune.core.pages import sentences
from graders import credentials, pauses, status, targets, versions
from graders.gateway.types import GraderTarget, HealthOutcome
from graders.health import calls, checks
from graders.health.checks import TOLERATED_SKEW_S, CheckResult
from graders.models import Grader, GraderCheck, GraderStatusChange
from graders.states import GraderKind, GraderStatus, HealthStatus, Trouble
from graders.verdicts import Failure

EVERY: Final = timedelta(minutes=5)
SHOWN: Final = 50  # checks, and changes of status
EARLIEST: Final = timedelta(minutes=4)  # after the previous check, so that two schedulers do not check twice
PAUSE_FOR: Final = EVERY + timedelta(minutes=1)
GROUP: Final = 128  # graders that are called at once
MAX_REPEATS: Final = 1_000  # the counter stops here
DOWN: Final = frozenset({HealthStatus.UNHEALTHY, HealthStatus.UNREACHABLE})
WELL_REASON: Final = "Two health checks in a row were healthy."
UNWELL_REASON: Final = "Two health checks in a row were not healthy."

logger = logging.getLogger(__name__)


def check_due() -> int:
    """Check the health of every grader in service that is due; return how many were called."""
    now, checked_count = database_now(), 0
    while group := _claim(now):
        checked_count += check(group)
    return checked_count


def check_now(grader: Grader) -> None:
    """Check the health of one grader on demand. The result does not change a grader that is not in service.

    raises  Conflict `changed_meanwhile`, Conflict `no_secret`, NotFound if it was deleted in the meantime
    """
    target = targets.load(grader)
    Grader.objects.filter(pk=grader.pk).update(checked_at=database_now())
    release()
    settle(grader.pk, target, calls.ask_health({grader.pk: target})[grader.pk])


def history(grader: Grader) -> tuple[list[GraderCheck], list[GraderStatusChange]]:
    """Return the newest checks and status changes of a grader, at most SHOWN of each."""
    newest_checks = GraderCheck.objects.newest_of(grader)[:SHOWN]
    status_changes = GraderStatusChange.objects.newest_of(grader)[:SHOWN]
    return list(newest_checks), list(status_changes)


def check(graders: Sequence[Grader]) -> int:
    """Check the health of graders, GROUP at once; skip those that cannot be called. Return how many were called."""
    checked_count = 0
    for at in range(0, len(graders), GROUP):
        group = graders[at : at + GROUP]
        loaded = targets.load_many(group)
        _update_secret_troubles(group, loaded)
        release()
        _settle_all(loaded, calls.ask_health(loaded))
        checked_count += len(loaded)
    return checked_count


def _update_secret_troubles(graders: Sequence[Grader], loaded: Mapping[UUID, GraderTarget]) -> None:
    """Report a secret that cannot be decrypted as trouble, until it can be decrypted again or is rotated."""
    for grader in graders:
        if grader.pk in loaded and Trouble.SECRET in grader.troubles:
            status.recovered(grader.pk, Trouble.SECRET, credentials.READABLE_AGAIN)
        elif grader.pk not in loaded and grader.secrets.exists():
            status.trouble(grader.pk, Trouble.SECRET, targets.SECRET_UNREADABLE)


@transaction.atomic
def _claim(now: datetime) -> list[Grader]:
    """Claim the next graders that are due. A process that claims at the same time gets other graders."""
    overdue = Q(checked_at=None) | Q(checked_at__lte=now - EARLIEST)
    due = Grader.objects.live().filter(
        overdue, kind=GraderKind.ENDPOINT, status__in=status.WORKING, verified_at__isnull=False
    )
    group = list(due.order_by("pk").select_for_update(no_key=True, skip_locked=True)[:GROUP])
    Grader.objects.filter(pk__in=[grader.pk for grader in group]).update(checked_at=now)
    return group


def _settle_all(loaded: Mapping[UUID, GraderTarget], outcomes: Mapping[UUID, HealthOutcome]) -> None:
    for grader_id, outcome in outcomes.items():
        try:
            settle(grader_id, loaded[grader_id], outcome)
        except AutotuneError:
            continue  # it was changed or deleted in the meantime: the next check sees its new state
        except Exception as exc:
            if is_away(exc):
                raise  # the next health check follows in five minutes
            logger.exception("could not store the health check of grader %s", grader_id)  # go on with the others


@transaction.atomic
def settle(grader_id: UUID, target: GraderTarget, outcome: HealthOutcome) -> None:
    """Store a health check and change the grader's status by it. raises Conflict, NotFound as `check_now`"""
    grader = checks.locked(grader_id, target)
    check = checks.of_health(outcome)
    checks.keep(grader, [check, *_skewed(outcome)])
    credentials.note_verified(target, outcome.key_id_verified)
    health = outcome.health
    if isinstance(health, Failure) and health.gone:
        status.note_gone(grader_id)
        return
    is_platform_fault = isinstance(health, Failure) and health.fault == "platform"
    if is_platform_fault or grader.status == GraderStatus.INACTIVE or grader.verified_at is None:
        return
    if not isinstance(health, Failure):
        versions.seen(grader, health.version)
    health_status = HealthStatus.UNREACHABLE if isinstance(health, Failure) else HealthStatus(health.status)
    repeats = min(grader.health_repeats + 1, MAX_REPEATS) if grader.health == health_status else 1
    Grader.objects.filter(pk=grader_id).update(health=health_status, health_repeats=repeats)
    if grader.health:
        _follow(grader, HealthStatus(grader.health), health_status, check)


def _skewed(outcome: HealthOutcome) -> list[CheckResult]:
    """Return the check of the grader's clock if the clock is wrong, as a list of at most one."""
    clock = checks.of_clock(outcome)
    return [clock] if clock and abs(clock.clock_skew_s or 0.0) > TOLERATED_SKEW_S else []


def _follow(grader: Grader, before: HealthStatus, now: HealthStatus, check: CheckResult) -> None:
    """Change the grader's status and pause by the results of two health checks in a row."""
    if before == now == HealthStatus.HEALTHY:
        if grader.status == GraderStatus.DEGRADED:
            status.recovered(grader.pk, (Trouble.HEALTH, Trouble.VERIFICATION), WELL_REASON)
    elif HealthStatus.HEALTHY not in (before, now):
        status.trouble(grader.pk, Trouble.HEALTH, sentences.joined(UNWELL_REASON, check.detail))
    if before in DOWN and now in DOWN:
        pauses.pause(grader.pk, database_now() + PAUSE_FOR, pauses.UNHEALTHY)
    elif before not in DOWN and now not in DOWN:
        pauses.release(grader.pk, pauses.UNHEALTHY)
