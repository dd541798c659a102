"""Responses about a grader's verification and health."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import UNSET, UnsetType

from autotune.core.api.operations import ApiStruct
from autotune.core.clock import wire
from autotune.core.crypto.fields import LegibleRow
from graders.models import Grader, GraderCheck, GraderStatusChange


class CheckOut(ApiStruct):
    name: str
    passed: bool
    detail: str | None
    latency_ms: float | None


class VerificationOut(ApiStruct):
    verified: bool
    checks: list[CheckOut]


class RecordedCheckOut(CheckOut):
    """`clockSkewS` is the grader's clock minus Autotune's clock, in seconds.

    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    clock_skew_s: float | None
    at: str
    unreadable: list[str] | UnsetType = UNSET


class StatusChangeOut(ApiStruct):
    """`unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise."""

    previous_status: str
    current_status: str
    reason: str | None
    at: str
    unreadable: list[str] | UnsetType = UNSET


class GraderHealthOut(ApiStruct):
    """A grader's status, with its checks and status changes, newest first.

    `health`: the result of the last health check, null before the first. `troubles`: why the grader is degraded.
    `heldUntil`: Autotune sends no call before this time, for `heldReason`. Other organizations see only `status`: for
    them, the lists are empty and the other members null.
    """

    status: str
    health: str | None
    troubles: list[str] | None
    held_until: str | None
    held_reason: str | None
    checks: list[RecordedCheckOut]
    status_changes: list[StatusChangeOut]


def health_out(
    grader: Grader, recent: Iterable[GraderCheck], changes: Iterable[GraderStatusChange], *, now: datetime
) -> GraderHealthOut:
    """Return a grader's health as the API shows it, without a pause that has ended by `now`."""
    held_until = grader.held_until if grader.held_until and grader.held_until > now else None
    return GraderHealthOut(
        status=grader.status,
        health=grader.health or None,
        troubles=grader.troubles,
        held_until=wire(held_until) if held_until else None,
        held_reason=grader.held_reason if held_until else None,
        checks=[_check_out(check) for check in recent],
        status_changes=[_status_change_out(change) for change in changes],
    )


def public_health_out(grader: Grader) -> GraderHealthOut:
    """Return what other organizations see of a listed grader's health: its status."""
    return GraderHealthOut(
        status=grader.status,
        health=None,
        troubles=None,
        held_until=None,
        held_reason=None,
        checks=[],
        status_changes=[],
    )


def _check_out(check: GraderCheck) -> RecordedCheckOut:
    text = LegibleRow(check)
    return RecordedCheckOut(
        name=check.name,
        passed=check.passed,
        detail=text.detail,
        latency_ms=check.latency_ms,
        clock_skew_s=check.clock_skew_s,
        at=wire(check.at),
        unreadable=text.marker(),
    )


def _status_change_out(change: GraderStatusChange) -> StatusChangeOut:
    text = LegibleRow(change)
    return StatusChangeOut(change.previous, change.current, text.reason, wire(change.at), text.marker())
