"""Export the audit log as a file, read in ranges: memory stays bounded, and a slow client holds no connection."""

import csv
import io
import itertools
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from autotune.access.audit import querysets, responses
from autotune.access.audit.requests import AuditExportQuery
from autotune.access.audit.responses import AuditEventOut
from autotune.access.principal import Principal
from autotune.core.connections import release
from autotune.core.streams import watched

logger = logging.getLogger(__name__)
RANGE: Final = 1_000  # rows read in one query
MEDIA_TYPES: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that a spreadsheet runs as formulas
COLUMNS: Final = AuditEventOut.__struct_encode_fields__


def respond(request: HttpRequest, query: AuditExportQuery, principal: Principal) -> HttpResponseBase:
    """Stream the events that the query selects, the oldest first.

    The first piece is read before the response starts, so that an error there becomes an error response.
    """
    headers = {
        "Content-Disposition": f'attachment; filename="audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{query.format}"',
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    media_type = MEDIA_TYPES[query.format]
    if request.method == "HEAD":
        return HttpResponse(content_type=media_type, headers=headers)
    pieces = _pieces(querysets.chosen(principal, query), query.format)
    first = next(pieces, b"")
    subject = "the export of the audit log"
    body = watched(itertools.chain([first], pieces), subject, request, logger)
    return StreamingHttpResponse(body, content_type=media_type, headers=headers)


def _pieces(events: Any, file_format: str) -> Iterator[bytes]:
    if file_format == "csv":
        yield _csv([COLUMNS])
    for group in _groups(events):
        if file_format == "csv":
            yield _csv([_cell(value) for value in msgspec.to_builtins(event).values()] for event in group)
        else:
            yield msgspec.json.Encoder().encode_lines(group)


def _groups(events: Any) -> Iterator[list[AuditEventOut]]:
    last_id = UUID(int=0)
    while True:
        rows = list(events.filter(id__gt=last_id).order_by("id")[:RANGE])
        release()
        if rows:
            yield [responses.event_out(row) for row in rows]
        if len(rows) < RANGE:
            return
        last_id = rows[-1].id


def _csv(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return a value as a CSV cell. An apostrophe keeps a spreadsheet from running text as a formula."""
    if isinstance(value, list):
        value = " ".join(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
