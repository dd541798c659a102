"""The API views of scores: list, read, delete, and figures."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from autotune.access.views import ApiView, find_for
from autotune.core.api.etags import conditional
from autotune.core.api.operations import operation
from scores.models import Score
from scores.results import scores, summary
from scores.results.filters import ScoreFilter
from scores.results.scores import ScoreAnswer, ScoreList, ScoreListQuery
from scores.results.summary import SummaryOut
from scores.retention import deleting


class ScoresView(ApiView):
    @operation(
        summary="List scores",
        resource="scores",
        action="read",
        query=ScoreListQuery,
        answers={200: ScoreList},
    )
    def get(self, request: Request, query: ScoreListQuery) -> ScoreList:
        """The list includes scores of shadow graders and those that a newer one of the same grader has replaced;
        figures, rewards and exports leave both out.

        Sort by `createdAt` (default `-createdAt`) or `value`. `endDate` is inclusive for a date, exclusive for a
        date-time.
        """
        return scores.listed(query, self.principal)


class ScoreView(ApiView):
    @operation(
        summary="Read a score", resource="scores", action="read", answers={200: ScoreAnswer, 304: None}, errors=(410,)
    )
    def get(self, request: Request, score_id: UUID) -> HttpResponse:
        """The response has a strong ETag; `If-None-Match` returns 304. A deleted score is 410 `score_deleted`."""
        return conditional(request._request, ScoreAnswer(scores.read_score(score_id, self.principal)))

    @operation(summary="Delete a score", resource="scores", action="delete", answers={204: None}, errors=(409,))
    def delete(self, request: Request, score_id: UUID) -> None:
        """The score no longer counts, and its text is deleted; a tombstone stays. The reward is computed again from
        the other scores. 409 `legal_hold` while a hold covers its completion."""
        find_for(Score.objects.defer("reasoning", "details"), self.principal, score_id, "delete", "score")
        deleting.delete_score(score_id)


class SummaryView(ApiView):
    @operation(
        summary="Figures over scores",
        resource="scores",
        action="read",
        query=ScoreFilter,
        answers={200: SummaryOut},
    )
    def get(self, request: Request, query: ScoreFilter) -> Any:
        """Summarize the scores that the same filters list, without those of shadow graders and those that a newer one
        of the same grader has replaced.

        `unscored` counts the scoring runs in the selection that have no score, unfinished or failed. They are left out
        of every other figure, never counted as 0.
        """
        return summary.of(query, self.principal)
