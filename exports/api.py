"""The API endpoint that streams an export as its response."""

import itertools
import logging

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from autotune.access.principal import Principal
from autotune.access.views import ApiView
from autotune.core.api.operations import operation
from autotune.core.streams import watched
from exports import formats, layouts
from exports.formats import MEDIA_TYPES, json
from exports.metadata import ExportFacts
from exports.requests import ExportQuery, check
from scores.results import filters

logger = logging.getLogger(__name__)


class ExportView(ApiView):
    @operation(
        summary="Export scored completions as training data",
        resource="exports",
        action="read",
        query=ExportQuery,
        answers={200: None},
        produces=MEDIA_TYPES,
    )
    def get(self, request: Request, query: ExportQuery) -> HttpResponseBase:
        """Stream the rows in the order of completion ids. After an error the stream ends without its last chunk.

        `layout` defines a row: `records` (a completion and its reward), `preferences` (a better and a worse answer
        to one prompt), `kto` (an answer and whether it is good), `verl` (a prompt, in veRL's columns). A parameter that
        does not fit the layout or the `format` is rejected with 400 `does_not_fit`.

        `per=completion` (default): one record for each completion with a final reward. The bounds and the dates are
        those of the reward, `graderId` and `graderVersion` select completions that have a score by them, and for a
        panel the grader's members and `dimensions` are null. `per=grader`: one record for each score, to which all
        filters apply. `minReward` is a bound on the reward in both. Shadow scores, failed completions and erased text
        are left out.

        `dimensions=true` adds an object with the same names to every record, null where a score lacks one;
        `dimensionColumns=true` writes a column `dimension_<name>` for each instead, which every loader can read.

        `compression` wraps the file (`.jsonl.gz`); Parquet is compressed internally. `format=json` is one object
        `{records, metadata}` of at most 10,000 rows, else 400 `too_many_records`. Without rows the file is empty.
        """
        return _streamed(request._request, query, self.principal)


def _streamed(request: HttpRequest, query: ExportQuery, principal: Principal) -> HttpResponseBase:
    """Return the export that `query` asks for as a streamed response, never fully in memory.

    A client can detect an incomplete stream. The first piece is built before the response starts, so that errors of the
    request or the database are still reported.

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
