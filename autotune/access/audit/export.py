"""Export the audit log as a file, in ranges of the key: memory stays bounded, and a slow client holds no connection."""

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
RANGE: Final = 1_000
MEDIA_TYPES: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would run
COLUMNS: Final = AuditEventOut.__struct_encode_fields__


def respond(request: HttpRequest, query: AuditExportQuery, principal: Principal) -> HttpResponseBase:
    """Return a streamed response with the events that the query selects, the oldest first.

    The first piece is made before the response starts, so that a failure there still becomes an error response.
    """
    headers = {
        "Content-Disposition": f'attachment; filename="audit-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{query.format}"',
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    kind = MEDIA_TYPES[query.format]
    if request.method == "HEAD":
        return HttpResponse(content_type=kind, headers=headers)
    pieces = _pieces(querysets.chosen(principal, query), query.format)
    first = next(pieces, b"")
    subject = "the export of the audit log"
    body = watched(itertools.chain([first], pieces), subject, request, logger)
    return StreamingHttpResponse(body, content_type=kind, headers=headers)


def _pieces(events: Any, kind: str) -> Iterator[bytes]:
    if kind == "csv":
        yield _lines([COLUMNS])
    for group in _groups(events):
        if kind == "csv":
            yield _lines([_cell(value) for value in msgspec.to_builtins(event).values()] for event in group)
        else:
            yield msgspec.json.Encoder().encode_lines(group)


def _groups(events: Any) -> Iterator[list[AuditEventOut]]:
    after = UUID(int=0)
    while True:
        rows = list(events.filter(id__gt=after).order_by("id")[:RANGE])
        release()
        if rows:
            yield [responses.event_out(row) for row in rows]
        if len(rows) < RANGE:
            return
        after = rows[-1].id


def _lines(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """Return a value as a CSV cell, with an apostrophe before text that a spreadsheet would run as a formula."""
    if isinstance(value, list):
        value = " ".join(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
