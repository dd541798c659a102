"""Create, change, rotate and look up reward endpoints. An endpoint acts for the person who created it."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from msgspec import UNSET

from autotune.access import policy
from autotune.access.members import membership as members_membership
from autotune.access.models import Membership
from autotune.access.principal import Principal
from autotune.core.errors import Conflict, Forbidden, Invalid, NotFound
from scores.live.answering import DEFAULT_MODEL
from scores.live.endpoint_requests import NewRewardEndpoint, RewardEndpointPatch
from scores.models import RewardEndpoint
from scores.states import RewardProtocol, UnscoredPolicy
from tasks.models import Task

PATH: Final = "/api/v1/rewards/"
TOKEN_BYTES: Final = 32
MAX_ENDPOINTS: Final = 1_000  # of an organization
# Default and maximum duration of a call. OpenRLHF gives up after 180 s, slime after 120 s, Foundry after 600 s, and a
# later answer is lost. slime and Gym have the same default.
DEADLINES_MS: Final[dict[str, tuple[int, int]]] = {
    RewardProtocol.OPENRLHF: (170_000, 175_000),
    RewardProtocol.SLIME: (110_000, 115_000),
    RewardProtocol.VERIFY: (110_000, 600_000),
    RewardProtocol.FOUNDRY: (300_000, 590_000),
}


@dataclass(frozen=True, slots=True)
class EndpointAddress:
    """An endpoint and its address with the token, which cannot be read again later."""

    endpoint: RewardEndpoint
    url: str


@transaction.atomic
def create(principal: Principal, body: NewRewardEndpoint) -> EndpointAddress:
    """Create an endpoint for a task.

    raises  Forbidden if the caller may not request rewards; NotFound for the task; Conflict `task_archived`,
            `too_many_reward_endpoints`; Invalid
    """
    _require_asker(principal)
    task = Task.objects.visible_to(principal).defer("metadata").filter(pk=body.task_id.uuid).first()
    if task is None:
        raise NotFound.field("/taskId", "task")
    if task.archived:
        raise Conflict("The task is archived.", code="task_archived")
    if body.protocol == RewardProtocol.FOUNDRY and not settings.FOUNDRY_GRADER:
        raise Invalid.field("/protocol", "invalid_choice", "this server does not support it (AUTOTUNE_FOUNDRY_GRADER).")
    members_membership.lock(principal.organization.pk)  # so that concurrent requests cannot exceed the limit
    if RewardEndpoint.objects.filter(organization=principal.organization).count() >= MAX_ENDPOINTS:
        detail = f"An organization has at most {MAX_ENDPOINTS} reward endpoints."
        raise Conflict(detail, code="too_many_reward_endpoints")
    token = _new_token()
    row = RewardEndpoint(
        organization=principal.organization,
        created_by=principal.user,
        task=task,
        protocol=body.protocol,
        model_id=_model(body.model_id),
        unscored=body.unscored,
        neutral_value=body.neutral_value,
        without_text=body.without_text,
        deadline_ms=_deadline(body.protocol, body.deadline_ms),
        token_digest=digest_of(token),
    )
    _check(row)
    row.save()
    return EndpointAddress(row, _url(row, token))


@transaction.atomic
def change(endpoint_id: UUID, body: RewardEndpointPatch) -> RewardEndpoint:
    """Change the settings that the body names.

    raises  Invalid, NotFound if it was deleted meanwhile
    """
    row = _locked(endpoint_id)
    changes: dict[str, Any] = {}
    if body.unscored is not UNSET:
        changes["unscored"] = body.unscored
    if body.neutral_value is not UNSET:
        changes["neutral_value"] = body.neutral_value
    if not isinstance(body.deadline_ms, type(UNSET)):
        changes["deadline_ms"] = _deadline(row.protocol, body.deadline_ms)
    if not isinstance(body.model_id, type(UNSET)):
        changes["model_id"] = _model(body.model_id)
    if body.without_text is not UNSET:
        changes["without_text"] = body.without_text
    if body.enabled is not UNSET:
        changes["enabled"] = body.enabled
    for name, value in changes.items():
        setattr(row, name, value)
    _check(row)
    if changes:
        row.save(update_fields=[*changes, "updated_at"])
    return row


@transaction.atomic
def rotate(principal: Principal, endpoint_id: UUID) -> EndpointAddress:
    """Replace the token. The old address stops working immediately.

    raises  Forbidden if the caller may not request rewards of this task, since the address would do it for them
    """
    _require_asker(principal)
    row = _locked(endpoint_id)
    if not Task.objects.visible_to(principal).filter(pk=row.task_id).exists():
        raise Forbidden("Your role may not read the task of this reward endpoint.")
    token = _new_token()
    row.token_digest = digest_of(token)
    row.save(update_fields=["token_digest", "updated_at"])
    return EndpointAddress(row, _url(row, token))


def digest_of(token: str) -> bytes:
    """Return the stored digest of a token. A token has 256 random bits, so it needs neither salt nor pepper."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def by_digest(digests: Collection[bytes]) -> dict[bytes, RewardEndpoint]:
    """Return the endpoints with these token digests, by digest; one query."""
    rows = RewardEndpoint.objects.select_related("organization", "created_by")
    return {bytes(row.token_digest): row for row in rows.filter(token_digest__in=list(digests))}


def principal_of(row: RewardEndpoint) -> Principal:
    """Return the principal that an endpoint acts for: its creator, with their current role.

    raises  Forbidden if they may no longer request rewards, or the endpoint is switched off
    """
    if not row.enabled:
        raise Forbidden("This reward endpoint is switched off.", code="endpoint_disabled")
    memberships = Membership.objects.select_related("role").filter(organization=row.organization_id)
    membership = memberships.filter(user=row.created_by_id).first()
    if membership is None or not row.created_by.is_active or row.organization.suspended:
        raise Forbidden("The person who created this reward endpoint can no longer use the organization.")
    principal = Principal(row.organization, membership.role, row.created_by)
    policy.require(principal, "rewards", "create")
    return principal


def _require_asker(principal: Principal) -> None:
    policy.require(principal, "rewards", "create")
    if principal.is_test:  # the endpoint would do what the key may not: use graders of other organizations
        raise Forbidden("A test key cannot create or rotate a reward endpoint. Use a live key.")


def _check(row: RewardEndpoint) -> None:
    """raises  Invalid if the members contradict each other"""
    if row.unscored == UnscoredPolicy.NEUTRAL and row.neutral_value is None and row.protocol != RewardProtocol.VERIFY:
        raise Invalid.field("/neutralValue", "missing_field", "`neutral` requires a number from 0 to 1.")


def _deadline(protocol: str, deadline_ms: int | None) -> int:
    default, most = DEADLINES_MS[protocol]
    if deadline_ms is not None and deadline_ms > most:
        detail = f"use at most {most} for {protocol}: the client gives up soon after."
        raise Invalid.field("/deadlineMs", "out_of_range", detail)
    return default if deadline_ms is None else deadline_ms


def _model(model_id: str | None) -> str:
    if model_id is not None and not model_id.strip():
        raise Invalid.field("/modelId", "invalid_format", "Must not be blank.")
    return model_id or DEFAULT_MODEL


def _locked(endpoint_id: UUID) -> RewardEndpoint:
    row = RewardEndpoint.objects.select_for_update(no_key=True).filter(pk=endpoint_id).first()
    if row is None:
        raise NotFound("There is no such reward endpoint.")
    return row


def _new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


def _url(row: RewardEndpoint, token: str) -> str:
    """The address. OpenRLHF would split it at a comma, and load a name that ends in `.py` as a file: it has neither."""
    return f"{settings.LIVE_URL}{PATH}{row.protocol}/{token}"
