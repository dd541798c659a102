"""Register, change, switch off and on, and delete graders."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from msgspec import UNSET

from autotune.access.principal import Principal
from autotune.core.errors import Conflict, Invalid, NotFound
from autotune.core.outbound.registered_urls import AddressRefused, check_url
from graders import credentials, requests, status
from graders.models import Grader
from graders.requests import CapabilitiesIn, GraderIn, GraderPatch, LimitsIn, RedactionIn
from graders.signals import grader_retiring
from graders.states import GraderStatus, Visibility

CAPABILITIES: Final = (
    "max_batch_size", "supports_dimensions", "supports_explanations", "supports_async", "avg_latency_ms", "domains",
)  # fmt: skip
LIMITS: Final = ("rate_per_minute", "max_concurrency", "timeout_ms", "batch_timeout_ms")
REDACTION: Final = {"reasoning": "redact_reasoning", "dimensions": "redact_dimensions"}
NAME_CONSTRAINT: Final = re.compile(r"\bgraders_grader(_|\.)name\b")  # PostgreSQL names it, SQLite its columns
SWITCHED_OFF: Final = "Switched off by its owner."
SWITCHED_ON: Final = "Switched on by its owner."
MOVED: Final = "The endpoint's address changed. Verify the grader, and Autotune calls it again."
RETIRED: Final = "Deleted."
_AFRESH: Final[dict[str, Any]] = {
    "verified_at": None, "gone_at": None, "auth_failures": 0, "troubles": [], "held_until": None, "held_reason": "",
    "health": "", "health_repeats": 0,
}  # fmt: skip
"""Values that are reset when a grader moves to another address."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A grader, and its new secret if one was created; the secret cannot be shown again."""

    grader: Grader
    secret: str | None


@transaction.atomic
def register(principal: Principal, body: GraderIn) -> Registration:
    """Register a grader with a new secret. It is inactive until it is verified.

    raises  Invalid for a name or an address that is not accepted, Conflict `name_taken`
    """
    requests.check(body)
    grader = Grader(
        organization=principal.organization,
        created_by=principal.user,
        name=body.name,
        description=body.description or "",
        endpoint=_address(body.endpoint),
        visibility=body.visibility or Visibility.PRIVATE,
        pins=_pins(body.pins),
        **_capabilities(body.capabilities),
        **_limits(body.limits),
        **_redaction(body.redaction),
    )
    _store(grader)
    return Registration(grader, credentials.issue(grader))


@transaction.atomic
def patch(grader: Grader, body: GraderPatch) -> Registration:
    """Change the members that the body names.

    A new scheme, host or port creates a new secret at once and makes the grader inactive.

    raises  Invalid, Conflict `name_taken`, Conflict `not_verified`, NotFound if it was deleted in the meantime
    """
    requests.check(body)
    endpoint = None if body.endpoint is UNSET else _address(str(body.endpoint))
    grader = _locked(grader.pk)
    changes = _changes(body)
    secret = None
    if endpoint is not None and endpoint != grader.endpoint:
        changes["endpoint"] = endpoint
        if _origin(endpoint) != _origin(grader.endpoint):
            changes |= _AFRESH
            secret = credentials.issue(grader)
    for name, value in changes.items():
        setattr(grader, name, value)
    if changes:
        _store(grader, update_fields=[*changes, "updated_at"])
    if secret is not None:
        status.change(grader.pk, GraderStatus.INACTIVE, MOVED)
    if body.status is not UNSET:
        _switch(grader, on=body.status == "active")
    return Registration(_locked(grader.pk), secret)


@transaction.atomic
def switch(grader_id: UUID, *, on: bool) -> None:
    """Switch a grader off, or on again.

    raises  Conflict `not_verified` if it is to be switched on and is not verified, NotFound
    """
    _switch(_locked(grader_id), on=on)


@transaction.atomic
def tombstone(grader: Grader) -> None:
    """Delete a grader and its secrets. Its scores still name it, and another grader may take its name.

    raises  Conflict `in_use` while something still names it (graders.signals), NotFound if it was deleted before
    """
    locked = _locked(grader.pk)
    grader_retiring.send(sender=Grader, grader=locked)
    status.change(locked.pk, GraderStatus.INACTIVE, RETIRED)
    Grader.objects.filter(pk=locked.pk).update(deleted_at=timezone.now(), updated_at=timezone.now())
    credentials.retire(locked.pk)


def _locked(grader_id: UUID) -> Grader:
    """Return the current row, locked until the transaction ends. Rows that refer to it can still be written."""
    grader = Grader.objects.live().select_for_update(no_key=True).filter(pk=grader_id).first()
    if grader is None:
        raise NotFound("There is no such grader.")
    return grader


def _switch(grader: Grader, *, on: bool) -> None:
    if on and grader.verified_at is None:
        raise Conflict("Only a verified grader can be active. Verify the grader first.", code="not_verified")
    Grader.objects.filter(pk=grader.pk).exclude(switched_off=not on).update(switched_off=not on)
    if not on:
        status.change(grader.pk, GraderStatus.INACTIVE, SWITCHED_OFF)
    elif grader.status == GraderStatus.INACTIVE:
        status.admit(grader.pk, SWITCHED_ON)


def _store(grader: Grader, update_fields: list[str] | None = None) -> None:
    """Save a grader. raises Conflict `name_taken` if another live one has its name, also if both are saved at once"""
    try:
        with transaction.atomic():
            grader.save(update_fields=update_fields)
    except IntegrityError as exc:
        if not NAME_CONSTRAINT.search(str(exc)):
            raise
        raise Conflict("Another grader of the organization has this name. Enter another.", code="name_taken") from None


def _changes(body: GraderPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if body.name is not UNSET:
        changes["name"] = body.name
    if body.description is not UNSET:
        changes["description"] = body.description or ""
    if body.visibility is not UNSET:
        changes["visibility"] = body.visibility or Visibility.PRIVATE
    if body.pins is not UNSET:
        changes["pins"] = _pins(body.pins)
    if isinstance(body.capabilities, CapabilitiesIn):
        changes |= _defaults(CAPABILITIES) | _capabilities(body.capabilities)
    if body.limits is None:
        changes |= _defaults(LIMITS)
    elif isinstance(body.limits, LimitsIn):
        changes |= _limits(body.limits)
    if body.redaction is None:
        changes |= _defaults(REDACTION.values())
    elif isinstance(body.redaction, RedactionIn):
        changes |= _redaction(body.redaction)
    return changes


def _pins(pins: list[str] | None) -> list[str]:
    """Each pin once, in order."""
    return list(dict.fromkeys(pins or ()))


def _capabilities(capabilities: CapabilitiesIn) -> dict[str, Any]:
    return {name: value for name in CAPABILITIES if (value := getattr(capabilities, name)) is not None}


def _limits(limits: LimitsIn | None) -> dict[str, Any]:
    """The limits that the body sets; null means the default."""
    if limits is None:
        return {}
    values = {name: value for name in LIMITS if (value := getattr(limits, name)) is not UNSET}
    return values | _defaults(name for name, value in values.items() if value is None)


def _redaction(redaction: RedactionIn | None) -> dict[str, bool]:
    """The redactions that the body sets; null means false."""
    if redaction is None:
        return {}
    return {
        column: bool(value) for name, column in REDACTION.items() if (value := getattr(redaction, name)) is not UNSET
    }


def _defaults(names: Iterable[str]) -> dict[str, Any]:
    fresh = Grader()
    return {name: getattr(fresh, name) for name in names}


def _address(endpoint: str) -> str:
    """Return the endpoint in its normal form. raises Invalid"""
    try:
        return check_url(endpoint, allow=settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS, kind="grader")
    except AddressRefused as exc:
        raise Invalid.field("/endpoint", exc.code, exc.message) from exc


def _origin(endpoint: str) -> tuple[str, str]:
    parts = urlsplit(endpoint)
    return parts.scheme, parts.netloc
