"""Signed links that download a file of an export without a key, until they expire or their creator loses access."""

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer

from autotune.access import current_rights
from autotune.access.audit import current_call
from autotune.access.principal import Principal
from autotune.core import clock
from autotune.core.clock import database_now
from autotune.core.errors import Forbidden, Gone, NotFound
from exports.files import downloads
from exports.files.serving import Download
from exports.models import Export, ExportFile

LEAST_S, DEFAULT_S, MOST_S = 60, 3_600, 7 * 86_400
_SIGNER: Final = Signer(salt="exports.links", sep=".")
_FORM: Final = struct.Struct(">16s16s16s16s16sQ")
_NONE: Final = bytes(16)


@dataclass(frozen=True, slots=True)
class LinkToken:
    """The contents of a link's token.

    file  None: all data files as one
    organization, user, key  who created it, in which organization, and with which API key, if any
    """

    export: UUID
    file: UUID | None
    organization: UUID
    user: UUID
    key: UUID | None
    expires_at: datetime


def make(export: Export, file_name: str | None, principal: Principal, expires_in_s: int) -> tuple[str, datetime]:
    """Return the address of a new link and when it expires, which is never later than its files do.

    raises  what `downloads.find` does
    """
    download = downloads.find(export, file_name, "/file")
    assert export.expires_at is not None
    until = min(database_now() + timedelta(seconds=expires_in_s), export.expires_at).replace(microsecond=0)
    link = LinkToken(
        export.pk,
        download.segments[0].id if file_name is not None else None,
        principal.organization.pk,
        principal.user.pk,
        principal.key.pk if principal.key else None,
        until,
    )
    return f"{settings.PUBLIC_URL}/api/v1/downloads/{_token(link)}", until


def follow(token: str) -> Download:
    """Return the download that a link points to.

    raises  NotFound for an unknown token; Gone `link_expired`, or the export's own error; Forbidden if its creator
            may no longer read the export
    """
    link = _read(token)
    export = Export.objects.select_related("organization").filter(pk=link.export).first()
    if export is None:
        raise NotFound("This link does not exist. Check that the address is complete.")
    principal = current_rights.principal_now(link.organization, link.user, link.key)
    current_call.by(principal.user.email if principal else "link", organization_id=export.organization_id)
    current_call.about(export.public_id)
    if link.expires_at <= database_now():
        raise Gone(f"The link expired at {clock.wire(link.expires_at)}. Get a new one.", code="link_expired")
    if principal is None or not Export.objects.visible_to(principal).filter(pk=export.pk).exists():
        raise Forbidden("The person who created the link may no longer read the export.")
    name = None
    if link.file is not None:
        downloads.require_files(export)
        name = ExportFile.objects.filter(pk=link.file, export=export).values_list("name", flat=True).first()
        if name is None:
            raise NotFound("The export has no file with this name.")
    return downloads.find(export, name)


def _token(link: LinkToken) -> str:
    packed = _FORM.pack(
        link.export.bytes,
        link.file.bytes if link.file else _NONE,
        link.organization.bytes,
        link.user.bytes,
        link.key.bytes if link.key else _NONE,
        int(link.expires_at.timestamp()),
    )
    return _SIGNER.sign(base64.urlsafe_b64encode(packed).rstrip(b"=").decode())


def _read(token: str) -> LinkToken:
    try:
        text = _SIGNER.unsign(token)
        export, file, organization, user, key, until = _FORM.unpack(
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        )
    except (BadSignature, binascii.Error, struct.error, ValueError):
        raise NotFound("This link does not exist. Check that the address is complete.") from None
    return LinkToken(
        UUID(bytes=export),
        None if file == _NONE else UUID(bytes=file),
        UUID(bytes=organization),
        UUID(bytes=user),
        None if key == _NONE else UUID(bytes=key),
        datetime.fromtimestamp(until, UTC),
    )
