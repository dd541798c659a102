"""Create exports, and find the permissions they run with: those that their creator has at that time."""

import base64
import secrets
from functools import partial
from typing import Any, Final

import msgspec
from django.conf import settings
from django.db import transaction

from autotune.access import current_rights, policy
from autotune.access.models import Organization
from autotune.access.principal import Principal
from autotune.core.api import parsing
from autotune.core.api.parsing import PublicId
from autotune.core.brokers import queue
from autotune.core.clock import database_now
from autotune.core.errors import Conflict, FieldError, Forbidden, Invalid, NotFound
from exports import formats, layouts, requests
from exports.files import sealed
from exports.metadata import ExportFacts
from exports.models import Export
from exports.requests import ExportQuery
from scores.results import filters

JOB: Final = "exports.run"
RESOURCE: Final = "exports"


def ask(query: ExportQuery, principal: Principal) -> Export:
    """Create an export; its work starts after the commit.

    raises  Invalid or NotFound for the query, with pointers into a body; Forbidden; Conflict `too_many_exports`
    """
    policy.require(principal, RESOURCE, "read")
    check(query, principal)
    with transaction.atomic():
        organization = Organization.objects.select_for_update(no_key=True).get(pk=principal.organization.pk)
        waiting = Export.objects.filter(organization=organization).unfinished().count()
        if waiting >= settings.EXPORTS_WAITING:
            raise Conflict(
                f"This organization has {waiting} unfinished exports. Wait until one ends, or cancel one.",
                code="too_many_exports",
            )
        export = Export.objects.create(
            organization=organization,
            created_by=principal.user,
            api_key=principal.key,
            reach=policy.reach(principal, RESOURCE, "read") or "",
            query=stored(query),
            file_key=base64.b64encode(secrets.token_bytes(sealed.KEY)).decode(),
            created_at=database_now(),
        )
        transaction.on_commit(partial(queue.send, JOB), robust=True)
    return export


def check(query: ExportQuery, principal: Principal) -> None:
    """Reject a query that could not run, without reading a row.

    raises  Invalid or NotFound, with pointers into a body
    """
    requests.check(query, pointer_prefix="/")
    try:
        selection = filters.check(query, principal)
        layout = layouts.layout(query, selection, names=())  # the job itself finds the names, since it reads all rows
        formats.encoder(query, layout.columns, ExportFacts())
    except (Invalid, NotFound) as exc:
        raise in_body(exc) from exc


def in_body(error: Invalid | NotFound) -> Invalid | NotFound:
    """Convert the error of a query parameter to that of the body's member."""
    errors = [
        FieldError(
            f"/{field_error.pointer[1:]}" if field_error.pointer.startswith("?") else field_error.pointer,
            field_error.code,
            field_error.detail,
        )
        for field_error in error.errors
    ]
    return type(error)(in_body_text(error.detail), code=error.code, errors=errors)


def in_body_text(detail: str) -> str:
    """Return the sentence with the name of the body's member in place of the parameter's."""
    return f"/{detail[1:]}" if detail.startswith("?") else detail


def stored(query: ExportQuery) -> dict[str, Any]:
    """Return the request's values without those that equal the defaults."""
    plain = ExportQuery()
    return {
        wire: str(value) if isinstance(value, PublicId) else msgspec.to_builtins(value)
        for name, wire in zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True)
        if (value := getattr(query, name)) != getattr(plain, name)
    }


def query_of(export: Export) -> ExportQuery:
    """Check a stored query; raises Invalid if this release rejects what an earlier one accepted."""
    return parsing.convert(export.query, ExportQuery)


def principal_of(export: Export) -> Principal:
    """Return the principal that created the export, with its current permissions.

    raises  Forbidden if they left, their key was revoked, or they may not read exactly as widely as then
    """
    principal = current_rights.principal_now(export.organization_id, export.created_by_id, export.api_key_id)
    if principal is None:
        raise Forbidden("The person who requested it left the organization, or the API key was revoked or has expired.")
    policy.require(principal, RESOURCE, "create")
    if policy.reach(principal, RESOURCE, "read") != export.reach:
        raise Forbidden("The read permissions of the person who requested the export have changed since.")
    return principal
