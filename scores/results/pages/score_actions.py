"""The page that deletes a score."""

from uuid import UUID

from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.frame import acting, navigation
from autotune.access.frame.acting import AutotuneError
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find_for
from autotune.core import ids
from autotune.core.errors import Gone
from scores.models import Score
from scores.results.pages.completion_actions import WRITES, TypedConfirmationForm
from scores.retention import deleting
from tasks import sharing


@page(("scores", "delete"), methods=WRITES)
def delete(request: PageRequest, score_id: UUID) -> HttpResponseBase:
    """Delete a score, after the user types a word to confirm. A tombstone stays."""
    acting.concerns("scores", "delete", ids.encode("score", score_id))
    textless = Score.objects.defer("reasoning", "details", "dimensions")
    row = find_for(textless, request.principal, score_id, "delete", "score")
    if row.deleted_at is not None:
        raise Gone("The score was deleted.", code="score_deleted")
    form = TypedConfirmationForm(request.POST if request.method == "POST" else None, word="delete")
    if request.method == "POST" and form.is_valid():
        try:
            acting.do(request, lambda: deleting.delete_score(score_id), toast="The score is deleted.")
        except AutotuneError as exc:
            form.refuse(exc)
        else:
            if sharing.readable(request.principal).filter(pk=row.completion_id).exists():
                return redirect("completion", row.completion_id)
            return redirect("scores")
    back = reverse("score", args=[score_id])
    crumbs = navigation.crumbs(("Scores", reverse("scores")), (f"…{row.public_id[-6:]}", back))
    context = {"title": "Delete the score", "crumbs": crumbs, "score": row, "form": form, "back": back}
    return render(request, "scores/results/score_delete.html", context, status=400 if form.errors else 200)
