"""Health: what graders say of themselves at /health, asked every five minutes and on demand.

A finding counts when two looks in a row agree on it, so that one lost packet moves nobody: two that are not well make
the grader degraded, two `healthy` ones end that; two that are down (`unhealthy`, or no answer that can be believed)
hold its calls back, two that are not let them go on. A hold outlasts the wait for the next look by a minute and is
renewed by each, so none stays when the looks cease.

No transaction is open and no connection is held while the calls are out.
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
from graders.gateway.types import Failure, GraderTarget, HealthOutcome
from graders.health import calls, checks
from graders.health.checks import TOLERATED_SKEW_S, Check
from graders.models import Grader, GraderCheck, GraderStatusChange
from graders.states import GraderKind, GraderStatus, HealthStatus, Trouble

EVERY: Final = timedelta(minutes=5)
SHOWN: Final = 50  # checks, and changes of status
EARLIEST: Final = timedelta(minutes=4)  # after the look before, so that two beats do not ask twice
HOLD: Final = EVERY + timedelta(minutes=1)
GROUP: Final = 128  # graders that are asked at once
MAX_REPEATS: Final = 1_000  # the counter stops here
DOWN: Final = frozenset({HealthStatus.UNHEALTHY, HealthStatus.UNREACHABLE})
WELL_REASON: Final = "Its /health said twice in a row that it is healthy."
UNWELL_REASON: Final = "Its /health was not well twice in a row."

logger = logging.getLogger(__name__)


def check_due() -> int:
    """Check the health of every grader in service that is due. Returns how many were called."""
    now, checked_count = database_now(), 0
    while group := _claim(now):
        checked_count += look(group)
    return checked_count


def check_now(grader: Grader) -> None:
    """Check the health of one grader on demand. One that is not in service is called too, and nothing follows from it.

    raises  Conflict `changed_meanwhile`, Conflict `no_secret`, NotFound if it was deleted meanwhile
    """
    target = targets.load(grader)
    Grader.objects.filter(pk=grader.pk).update(checked_at=database_now())
    release()
    settle(grader.pk, target, calls.ask_health({grader.pk: target})[grader.pk])


def history(grader: Grader) -> tuple[list[GraderCheck], list[GraderStatusChange]]:
    """The newest checks of a grader and changes of its status, SHOWN of each at most."""
    newest_checks = GraderCheck.objects.newest_of(grader)[:SHOWN]
    status_changes = GraderStatusChange.objects.newest_of(grader)[:SHOWN]
    return list(newest_checks), list(status_changes)


def look(graders: Sequence[Grader]) -> int:
    """Check the health of several, GROUP at once; skip those that cannot be called. Returns how many were called."""
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
    """Take on the next graders that are due; a rival that claims at the same time gets others."""
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
            continue  # it was changed or deleted meanwhile: the next look sees what it is now
        except Exception as exc:
            if is_away(exc):
                raise  # the next health check follows in five minutes
            logger.exception("the look at grader %s could not be settled", grader_id)  # the others still can


@transaction.atomic
def settle(grader_id: UUID, target: GraderTarget, outcome: HealthOutcome) -> None:
    """Store a health check and move the grader's status by it. raises Conflict, NotFound as `check_now`"""
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


def _skewed(outcome: HealthOutcome) -> list[Check]:
    """The check of its clock, where that is worth a word."""
    clock = checks.of_clock(outcome)
    return [clock] if clock and abs(clock.clock_skew_s or 0.0) > TOLERATED_SKEW_S else []


def _follow(grader: Grader, before: HealthStatus, now: HealthStatus, check: Check) -> None:
    """What two looks in a row mean."""
    if before == now == HealthStatus.HEALTHY:
        if grader.status == GraderStatus.DEGRADED:
            status.recovered(grader.pk, (Trouble.HEALTH, Trouble.VERIFICATION), WELL_REASON)
    elif HealthStatus.HEALTHY not in (before, now):
        status.trouble(grader.pk, Trouble.HEALTH, sentences.joined(UNWELL_REASON, check.detail))
    if before in DOWN and now in DOWN:
        pauses.hold(grader.pk, database_now() + HOLD, pauses.UNHEALTHY)
    elif before not in DOWN and now not in DOWN:
        pauses.release(grader.pk, pauses.UNHEALTHY)
