"""An export as an HTTP answer: a stream that is never held whole, and that never looks whole when it is not."""

import itertools
import logging
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from autotune.access.principal import Principal
from exports import dimensions, jsonl, parquet, ranges, readers
from exports.inputs import MEDIA_TYPES, ExportQuery, check_choices
from exports.ranges import Reader
from exports.records import RecordOut, Shaper
from scores import filters

logger = logging.getLogger(__name__)


def respond(request: HttpRequest, query: ExportQuery, principal: Principal) -> HttpResponseBase:
    """The export that `query` asks for, as a stream.

    The first piece is made before the answer begins, so that what is wrong with the request or the database is still
    told as an error.

    raises  Invalid or NotFound for the query
    """
    check_choices(query)
    selection = filters.check(query, principal)
    at = datetime.now(UTC)
    headers = {
        "Content-Disposition": f'attachment; filename="autotune-{query.layout}-{at:%Y%m%dT%H%M%SZ}.{query.format}"',
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
    }
    kind = MEDIA_TYPES[query.format]
    if request.method == "HEAD":
        return HttpResponse(content_type=kind, headers=headers)
    pieces = _pieces(readers.reader(query, selection), query, at)
    first = next(pieces, b"")
    whole = _watched(itertools.chain([first] if first else [], pieces), getattr(request, "request_id", "-"))
    return StreamingHttpResponse(whole, content_type=kind, headers=headers)


def _pieces(reader: Reader, query: ExportQuery, at: datetime) -> Iterator[bytes]:
    names = dimensions.names(reader) if query.dimensions else None
    groups = _shaped(reader, Shaper(query.naming, names))
    if query.format == "parquet":
        return parquet.encode(groups, naming=query.naming, exported_at=at)
    return jsonl.encode(groups)


def _shaped(reader: Reader, shaper: Shaper) -> Iterator[tuple[list[RecordOut], int]]:
    for records, left_out in ranges.records(reader):
        yield shaper.shape(records), left_out


def _watched(pieces: Iterable[bytes], request_id: str) -> Iterator[bytes]:
    """The pieces; an error among them is logged and raised again, which breaks the connection off before its end."""
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            yield piece
    except GeneratorExit:
        logger.info("the client left an export after %d octets (request %s)", size, request_id)
        raise
    except Exception:
        logger.exception("an export broke off after %d octets (request %s)", size, request_id)
        raise
    logger.info("exported %d octets (request %s)", size, request_id)
