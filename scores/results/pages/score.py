"""The page of a score: its value, its origin, its reasoning, and whether it counts."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access.frame import navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.access.views import find_for
from autotune.core import markdown
from autotune.core.errors import Forbidden, NotFound
from graders.models import Grader
from scores.models import Score, WorkflowRun
from scores.results import scores
from scores.results.names import ObjectNames
from scores.results.pages import completion_scores
from scores.results.privacy import ViewerSight
from scores.reviews import access
from tasks import sharing
from tasks.models import PanelMember, Task

SHOWN_REASONING = 70_000  # characters; a grader may write 64 Ki


@page(("scores", "read"))
def score(request: PageRequest, score_id: UUID) -> HttpResponse:
    """Show one score as `GET /scores/:id` returns it to this reader."""
    principal = request.principal
    out = scores.read_score(score_id, principal)
    row = Score.objects.defer("reasoning", "details", "dimensions").get(pk=score_id)
    names = ObjectNames.of(principal, tasks=[row.task_id], graders=[row.grader_id], versions=[row.grader_version_id])
    sight = ViewerSight.of(principal)
    own = Grader.objects.filter(pk=row.grader_id, organization=principal.organization).exists()
    dimensions = out.dimensions or []
    readable = sharing.readable(principal).filter(pk=row.completion_id)
    model_id = readable.values_list("model_id", flat=True).first()
    context = {
        "title": f"Score …{row.public_id[-6:]}",
        "crumbs": navigation.crumbs(("Scores", reverse("scores"))),
        "score": row,
        "out": out,
        "grader": names.grader(row.grader_id),
        "version": names.version(row.grader_version_id),
        "task": names.task(row.task_id),
        "model_id": model_id or "",
        "opens": model_id is not None,
        "run": WorkflowRun.objects.visible_to(principal).filter(pk=row.run_id).only("pk").first(),
        "review": _review(principal, row),
        "original": _original(principal, row),
        "member": _member(principal, row),
        "dimensions": completion_scores.bars(out),
        "more_dimensions": max(0, len(dimensions) - completion_scores.MAX_BARS),
        "reasoning": markdown.plain(out.reasoning, limit=SHOWN_REASONING) if out.reasoning else None,
        "hidden": completion_scores.hidden(out, sight, own=own),
        "may_delete": _may_delete(principal, score_id),
    }
    return render(request, "scores/results/score.html", context)


def _review(principal: Principal, row: Score) -> Any:
    if row.reviewed_by_id is None:
        return None
    return access.shown(principal).filter(run_id=row.run_id).order_by("-id").only("pk", "status").first()


def _original(principal: Principal, row: Score) -> Score | None:
    """The score that this one copies, if it still exists and the reader may open it."""
    if row.reused_from is None:
        return None
    return Score.objects.live().visible_to(principal).filter(pk=row.reused_from).only("pk").first()


def _member(principal: Principal, row: Score) -> PanelMember | None:
    """Its grader's place in the panel; None if the reader may not see the task."""
    if not Task.objects.visible_to(principal).filter(pk=row.task_id).exists():
        return None
    return PanelMember.objects.filter(task_version__completion=row.completion_id, grader_id=row.grader_id).first()


def _may_delete(principal: Principal, score_id: UUID) -> bool:
    try:
        find_for(Score.objects.only("pk"), principal, score_id, "delete", "score")
    except (Forbidden, NotFound):
        return False
    return True
