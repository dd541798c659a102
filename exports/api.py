"""The API endpoint that streams an export as its response."""

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from autotune.access.views import ApiView
from autotune.core.api.operations import operation
from exports import streaming
from exports.formats import MEDIA_TYPES
from exports.requests import ExportQuery


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
        return streaming.respond(request._request, query, self.principal)
