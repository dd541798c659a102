"""Asking for an export, and for whom it works: rights are those of whoever asked, at the time it runs."""

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
from exports.metadata import Facts
from exports.models import Export
from exports.requests import ExportQuery
from scores.results import filters

JOB: Final = "exports.run"
RESOURCE: Final = "exports"


def ask(query: ExportQuery, principal: Principal) -> Export:
    """A new export, begun after the commit.

    raises  Invalid or NotFound for the query, with pointers into a body; Forbidden; Conflict `too_many_exports`
    """
    policy.require(principal, RESOURCE, "read")
    check(query, principal)
    with transaction.atomic():
        organization = Organization.objects.select_for_update(no_key=True).get(pk=principal.organization.pk)
        waiting = Export.objects.filter(organization=organization).unfinished().count()
        if waiting >= settings.EXPORTS_WAITING:
            raise Conflict(
                f"{waiting} exports of this organization are not over yet; wait for one of them, or cancel it.",
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
    """Refuse what could not run, without reading a row of it.

    raises  Invalid or NotFound, with pointers into a body
    """
    requests.check(query, pointer_prefix="/")
    try:
        selection = filters.check(query, principal)
        layout = layouts.layout(query, selection, names=())  # which there are is the job's to find: it reads them all
        formats.encoder(query, layout.schema, Facts())
    except (Invalid, NotFound) as exc:
        raise in_body(exc) from exc


def in_body(error: Invalid | NotFound) -> Invalid | NotFound:
    """The error of a query's parameter as that of the body's member."""
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
    """A sentence that begins with a parameter's name, with that of the body's member."""
    return f"/{detail[1:]}" if detail.startswith("?") else detail


def stored(query: ExportQuery) -> dict[str, Any]:
    """What was asked for, without what is as it would be anyway."""
    plain = ExportQuery()
    return {
        wire: str(value) if isinstance(value, PublicId) else msgspec.to_builtins(value)
        for name, wire in zip(query.__struct_fields__, query.__struct_encode_fields__, strict=True)
        if (value := getattr(query, name)) != getattr(plain, name)
    }


def query_of(export: Export) -> ExportQuery:
    """raises Invalid if an earlier release took what this one does not"""
    return parsing.convert(export.query, ExportQuery)


def principal_of(export: Export) -> Principal:
    """Whoever asked for it, with what they may do now.

    raises  Forbidden if they left, their key was revoked, or they may not read exactly as widely as then
    """
    principal = current_rights.principal_now(export.organization_id, export.created_by_id, export.api_key_id)
    if principal is None:
        raise Forbidden("Who asked for the export left the organization, or the API key was revoked or has expired.")
    policy.require(principal, RESOURCE, "create")
    if policy.reach(principal, RESOURCE, "read") != export.reach:
        raise Forbidden("What the person who asked for the export may read has changed since.")
    return principal
