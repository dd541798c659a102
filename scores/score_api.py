"""The endpoints of scores: list, one, and figures."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from autotune.access.views import ApiView
from autotune.core.api import operation
from autotune.core.caching import conditional
from scores import reading, summary
from scores.filters import ScoreFilter
from scores.reading import ScoreAnswer, ScoreList, ScoreListQuery
from scores.summary import SummaryOut


class ScoresView(ApiView):
    @operation(
        summary="List scores",
        resource="scores",
        action="read",
        query=ScoreListQuery,
        answers={200: ScoreList},
    )
    def get(self, request: Request, query: ScoreListQuery) -> ScoreList:
        """Scores of shadow graders are listed too, and those that a newer one of the same grader has replaced; figures,
        rewards and exports leave both out.

        Sort by `createdAt` (default `-createdAt`) or `value`. `endDate` is inclusive for a date, exclusive for a
        date-time.
        """
        return reading.listed(query, self.principal)


class ScoreView(ApiView):
    @operation(summary="Read a score", resource="scores", action="read", answers={200: ScoreAnswer, 304: None})
    def get(self, request: Request, score_id: UUID) -> HttpResponse:
        """A score never changes: the answer has a strong ETag, and `If-None-Match` is answered with 304."""
        return conditional(request._request, ScoreAnswer(reading.one(score_id, self.principal)))


class SummaryView(ApiView):
    @operation(
        summary="Figures over scores",
        resource="scores",
        action="read",
        query=ScoreFilter,
        answers={200: SummaryOut},
    )
    def get(self, request: Request, query: ScoreFilter) -> Any:
        """Over the scores that the same filters list, without those of shadow graders and those that a newer one of the
        same grader has replaced.

        `unscored` counts the scoring runs in the selection that have no score, unfinished or failed. They are left out
        of every other figure, never counted as 0.
        """
        return summary.of(query, self.principal)
