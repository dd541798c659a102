"""Stream an export as an HTTP response, never fully in memory; a client can detect an incomplete stream."""

import itertools
import logging

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from autotune.access.principal import Principal
from autotune.core.streams import watched
from exports import formats, layouts
from exports.formats import json
from exports.metadata import ExportFacts
from exports.requests import ExportQuery, check
from scores.results import filters

logger = logging.getLogger(__name__)


def respond(request: HttpRequest, query: ExportQuery, principal: Principal) -> HttpResponseBase:
    """Return the export that `query` asks for as a streamed response.

    It builds the first piece before the response starts, so that it can still report errors of the request or the
    database.

    raises  Invalid or NotFound for the query
    """
    check(query)
    selection = filters.check(query, principal)
    facts = ExportFacts()
    layout = layouts.layout(query, selection)
    encoder = formats.encoder(query, layout.columns, facts)
    headers = {
        "Content-Disposition": f'attachment; filename="{_name(query, facts)}.{encoder.extension}"',
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    if request.method == "HEAD":
        return HttpResponse(content_type=encoder.media_type, headers=headers)
    if query.format == "json" and (rows := layout.expected()) > json.MAX_RECORDS:
        raise json.too_many(rows)
    pieces = encoder.encode(layout.batches())
    first = next(pieces, b"")
    body = watched(itertools.chain([first] if first else [], pieces), "the export", request, logger)
    return StreamingHttpResponse(body, content_type=encoder.media_type, headers=headers)


def _name(query: ExportQuery, facts: ExportFacts) -> str:
    return f"autotune-{query.layout}-{facts.exported_at:%Y%m%dT%H%M%SZ}"
