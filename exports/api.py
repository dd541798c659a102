"""The endpoint of exports, thin."""

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from autotune.access.views import ApiView
from autotune.core.api import operation
from exports import streaming
from exports.inputs import MEDIA_TYPES, ExportQuery


class ExportView(ApiView):
    @operation(
        summary="Export scored completions as training data",
        resource="exports",
        action="read",
        query=ExportQuery,
        answers={200: None},
        produces=tuple(MEDIA_TYPES.values()),
    )
    def get(self, request: Request, query: ExportQuery) -> HttpResponseBase:
        """A stream of records, in the order of completion ids; a broken one ends without its last chunk.

        `per=completion` (default): one record for each completion with a final reward. The bounds and the dates are
        those of the reward, `graderId` and `graderVersion` select completions that have a score by them, and for a
        panel the grader's members and `dimensions` are null. `per=grader`: one record for each score, to which all
        filters apply. `minReward` is a bound on the reward in both. Shadow scores, failed completions and erased texts
        are left out.

        `dimensions=true` gives an object with the same names on every record, null where a score lacks one.
        """
        return streaming.respond(request._request, query, self.principal)
