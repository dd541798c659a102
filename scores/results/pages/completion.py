"""The page of a completion: prompt and response, scores and reward, and who may see which part."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access import policy
from autotune.access.frame import navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.access.views import find
from autotune.core import ids, markdown
from autotune.core.pages.formats import brief
from scores.models import Review, Reward, WorkflowRun
from scores.results import waiting_reasons
from scores.results.completion_responses import CompletionOut, completion_out, shared_out
from scores.results.names import NamedObject
from scores.results.pages import completion_scores, completion_text
from scores.results.pages.comparison import siblings
from scores.results.pages.completion_audience import audience
from scores.results.pages.completions import READS
from scores.results.waiting_reasons import WaitExplanation
from scores.reviews import access
from scores.states import ENDED
from tasks import sharing
from tasks.models import Completion, PanelMember, Task
from tasks.responses import content_of

PART: Final = "state"  # the part that htmx reloads while the completion is scored
SIBLINGS: Final = 12
LIVE_S: Final = 3
SYSTEM_PROMPT: Final = 20_000  # characters


@page(*READS)
def completion(request: PageRequest, completion_id: UUID) -> HttpResponse:
    """Show the page, or for htmx only its state."""
    principal = request.principal
    readable = sharing.readable(principal)
    row = find(readable.select_related("reward"), completion_id, "completion")
    shared = sharing.is_only_shared(row, principal)
    reward: Reward | None = getattr(row, "reward", None)
    runs, visible = completion_scores.visible_runs(principal, row.pk)
    out = completion_out(row, reward, runs)
    if shared:
        out, reward = shared_out(out, [run.pk for run in visible]), None
    task, members = _task(principal, row)
    account, names = completion_scores.account(principal, row.pk, visible, reward, members)
    context = {
        "title": f"Completion …{out.id[-6:]}",
        "completion": row,
        "out": out,
        "shared": shared,
        "reward": reward,
        "account": account,
        "wait": None if shared or reward is not None else _wait(visible),
        "reviews": _reviews(principal, row.pk),
        "live": LIVE_S if out.status not in ENDED else 0,
        "may": _may(principal, row, shared),
    }
    if request.headers.get("HX-Target") == PART:
        return render(request, "scores/results/_completion_part.html", context)
    readers = audience(principal, row, task, members, names) if task is not None and not shared else []
    context |= {"audience": readers, "siblings": siblings(principal, row, readable)[:SIBLINGS]}
    return render(request, "scores/results/completion.html", context | _still(request, row, out, task, members))


def _wait(runs: Sequence[WorkflowRun]) -> WaitExplanation | None:
    """Why there is no reward yet, from the scoring runs that the reader may see."""
    waits = waiting_reasons.of_runs([run for run in runs if run.panel_size > 0])
    return waiting_reasons.longest(list(waits.values())) if waits else None


def _still(
    request: PageRequest, row: Completion, out: CompletionOut, task: Task | None, members: Sequence[PanelMember]
) -> dict[str, Any]:
    """The template context of the text, the task and the navigation."""
    above = [("Completions", reverse("completions"))]
    if task is not None:
        above.append((brief(task.name, 40), f"{reverse('completions')}?taskId={task.public_id}"))
    content = content_of(members[0].task_version) if members else None
    return {
        "crumbs": navigation.crumbs(*above),
        "named_task": NamedObject(row.task_id, ids.encode("task", row.task_id), task.name if task else ""),
        "texts": completion_text.texts(out, raw=markdown.is_raw(request.GET)),
        "system_prompt": markdown.plain(content["systemPrompt"], limit=SYSTEM_PROMPT)
        if content and content.get("systemPrompt")
        else None,
    }


def _task(principal: Principal, row: Completion) -> tuple[Task | None, list[PanelMember]]:
    """The task, and the panel for which the completion was submitted; None if the reader may not see them."""
    task = Task.objects.visible_to(principal).defer("metadata").filter(pk=row.task_id).first()
    if task is None:
        return None, []
    panel = PanelMember.objects.filter(task_version_id=row.task_version_id).select_related("task_version")
    return task, list(panel)


def _reviews(principal: Principal, completion_id: UUID) -> list[Review]:
    """Reviews of its runs, newest first, without their texts."""
    reviews = access.shown(principal).filter(completion_id=completion_id)
    return list(reviews.defer("reasoning", "details", "explanation", "dimensions").order_by("-id")[:20])


def _may(principal: Principal, row: Completion, shared: bool) -> dict[str, bool]:
    """The actions that the API allows the reader."""
    if shared or row.erased_at is not None:
        return {}
    return {
        "rescore": _reaches(principal, row, "create"),
        "erase": _reaches(principal, row, "delete"),
        "retry": policy.reach(principal, "workflow_runs", "update") is not None,
    }


def _reaches(principal: Principal, row: Completion, action: str) -> bool:
    match policy.reach(principal, "completions", action):
        case "all":
            return True
        case "organization":
            return row.organization_id == principal.organization.pk
        case "own":
            return row.organization_id == principal.organization.pk and row.created_by_id == principal.user.pk
    return False
