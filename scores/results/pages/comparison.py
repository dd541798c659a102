"""The page that compares two completions of one prompt, and the other completions of a prompt."""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString

from autotune.access.audit import current_call, trail
from autotune.access.frame import navigation
from autotune.access.frame.entry import PageRequest, page
from autotune.access.principal import Principal
from autotune.core import ids, markdown
from autotune.core.crypto.fields import is_legible
from autotune.core.errors import NotFound
from autotune.core.markdown import RenderedText
from scores.models import Score
from scores.results import completion_filters, completions, differences
from scores.results import scores as score_results
from scores.results.completion_filters import CompletionState
from scores.results.completion_responses import CompletionOut
from scores.results.differences import TextDifference
from scores.results.names import NamedObject, ObjectNames
from scores.results.pages.completions import READS
from scores.results.privacy import ViewerSight
from scores.results.scores import ScoreOut
from tasks import sharing
from tasks.conversations import whole_conversation
from tasks.models import Completion
from tasks.querysets import CompletionQuerySet
from tasks.system_prompts import SystemPrompts

OFFERED: Final = 50  # other completions of a prompt
VIEWS: Final = {"": "Formatted", "raw": "Raw", "words": "Changed words", "lines": "Changed lines"}
MARKED: Final = ("words", "lines")  # views that mark the differences
SHOWN: Final = 60_000  # characters of each response
DIFFERENT_PROMPTS: Final = "These completions answer different prompts. Choose two completions of the same prompt."


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another completion of the same prompt."""

    completion: Completion
    state: CompletionState


@dataclass(frozen=True, slots=True)
class ComparedCompletion:
    """One of the two. `shown` is its text, `marked` the same with what the other does not have."""

    out: CompletionOut
    pk: UUID
    shown: RenderedText | None
    marked: SafeString | None


@dataclass(frozen=True, slots=True)
class GraderComparison:
    """A grader's scores of both; `by` is the second minus the first, None if one is missing."""

    grader: NamedObject
    left: ScoreOut | None
    right: ScoreOut | None
    by: float | None


@page(*READS)
def compare(request: PageRequest) -> HttpResponse:
    """Show `a` and `b` side by side; with only `a`, the completions that it can be compared with."""
    principal = request.principal
    a, b = _parse_id(request, "a"), _parse_id(request, "b")
    left = _find(principal, a) if a else None
    right = _find(principal, b) if b else None
    context: dict[str, Any] = {
        "title": "Compare completions",
        "crumbs": navigation.crumbs(("Completions", reverse("completions"))),
        "siblings": siblings(principal, left) if left else [],
        "a": left,
        "b": right,
    }
    if left is None or right is None:
        if completion := left or right:
            current_call.about(completion.public_id)
        return render(request, "scores/results/comparison.html", context)
    if refusal := why_not(left, right):
        current_call.about(left.public_id)
        context["refusal"] = refusal
        return render(request, "scores/results/comparison.html", context, status=409)
    _record_reads(left, right)
    return render(request, "scores/results/comparison.html", context | _sides(request, left, right))


def _record_reads(*rows: Completion) -> None:
    """Record a read of each completion in the audit log, so that each is found by its id; the page records the last."""
    for row in rows[:-1]:
        current_call.about(row.public_id)
        if (call := current_call.current()) is not None:
            trail.noted(call, 200)
    current_call.about(rows[-1].public_id)


def siblings(principal: Principal, row: Completion, readable: CompletionQuerySet | None = None) -> list[Sibling]:
    """Return other completions of the task with the same prompt that the principal may read, newest first.

    readable  the completions that the principal may read, if the caller has that queryset
    """
    if not row.prompt_digest:
        return []
    readable = sharing.readable(principal) if readable is None else readable
    same_prompt = readable.for_readers().filter(task_id=row.task_id, prompt_digest=bytes(row.prompt_digest))
    others = list(completion_filters.textless(same_prompt).exclude(pk=row.pk).order_by("-id")[:OFFERED])
    shared = frozenset(other.pk for other in others if sharing.is_only_shared(other, principal))
    states = completion_filters.states_of(others, shared=shared)
    return [Sibling(other, states[other.pk]) for other in others]


def why_not(left: Completion, right: Completion) -> str:
    """Return why two completions are not compared; '' if they have the same prompt."""
    if left.pk == right.pk:
        return "Both are the same completion. Choose another one to compare it with."
    if left.erased_at is not None or right.erased_at is not None:
        return "The text of one of the two was erased, so there is nothing to compare."
    if not all(is_legible(row, name) for row in (left, right) for name in ("prompt", "messages", "response")):
        return "The text of one of the two cannot be read, so there is nothing to compare."
    if left.organization_id != right.organization_id:
        return DIFFERENT_PROMPTS
    if left.prompt_digest and right.prompt_digest:
        same = bytes(left.prompt_digest) == bytes(right.prompt_digest)
        return "" if same else DIFFERENT_PROMPTS
    return _why_not_by_text(left, right)


def _why_not_by_text(left: Completion, right: Completion) -> str:
    """The same for completions that have no digests yet."""
    system_prompts, versions = SystemPrompts(), {left.task_version_id, right.task_version_id}
    if system_prompts.unreadable(versions):
        return "The system prompt of one of the two cannot be read, so it is unknown whether their prompts are equal."
    by_version = system_prompts.of(versions)
    conversations = [
        whole_conversation(row.prompt or "", row.messages, by_version.get(row.task_version_id)) for row in (left, right)
    ]
    return "" if conversations[0] == conversations[1] else DIFFERENT_PROMPTS


def _sides(request: PageRequest, left: Completion, right: Completion) -> dict[str, Any]:
    """The template context of both responses and their scores, side by side."""
    principal = request.principal
    first, second = completions.seen([left, right], principal)
    view = request.GET.get("diff", "")
    view = view if view in VIEWS else ""
    marks = view in MARKED
    difference = differences.between(first.response or "", second.response or "", view) if marks else None  # type: ignore[arg-type]  # of MARKED
    responses = [out.response or "" for out in (first, second)]
    if view == "raw":
        shown = [markdown.plain(response, limit=SHOWN) for response in responses]
    else:
        shown = markdown.answers(responses, limit=SHOWN, heading=4)
    return {
        "views": VIEWS.items(),
        "view": view,
        "difference": difference,
        "too_different": marks and difference is None,
        "sides": [
            _side(first, left.pk, shown[0], difference, left=True),
            _side(second, right.pk, shown[1], difference, left=False),
        ],
        "prompt": markdown.plain(first.prompt or "", limit=SHOWN // 3),
        "lines": lines(principal, left.pk, right.pk),
        "by": _reward_difference(first, second),
    }


def _side(
    out: CompletionOut, pk: UUID, shown: RenderedText, difference: TextDifference | None, *, left: bool
) -> ComparedCompletion:
    if difference is None:
        return ComparedCompletion(out, pk, shown, None)
    pieces = difference.left if left else difference.right
    marked = markdown.marked(((piece.text, piece.changed) for piece in pieces), "del" if left else "ins")
    return ComparedCompletion(out, pk, None, marked)


def lines(principal: Principal, left: UUID, right: UUID) -> list[GraderComparison]:
    """Return the current scores of both completions that the principal may see, by grader."""
    visible_scores = Score.objects.live().visible_to(principal).defer("details")
    of_both = visible_scores.filter(completion_id__in=(left, right), superseded=False)
    scores = sorted(of_both, key=lambda score: (not score.is_scoring, score.pk))
    outs = dict(
        zip((score.pk for score in scores), score_results.shapes(scores, ViewerSight.of(principal)), strict=True)
    )
    names = ObjectNames.of(principal, graders=(score.grader_id for score in scores))
    by_grader: dict[UUID, dict[UUID, ScoreOut]] = {}
    for score in scores:
        by_grader.setdefault(score.grader_id, {})[score.completion_id] = outs[score.pk]
    return [_line(names.grader(pk), pair.get(left), pair.get(right)) for pk, pair in by_grader.items()]


def _line(grader: NamedObject, left: ScoreOut | None, right: ScoreOut | None) -> GraderComparison:
    return GraderComparison(grader, left, right, right.value - left.value if left and right else None)


def _reward_difference(first: CompletionOut, second: CompletionOut) -> float | None:
    """The second reward minus the first; None if either is missing."""
    return second.reward.value - first.reward.value if first.reward and second.reward else None


def _find(principal: Principal, completion_id: UUID) -> Completion:
    completion = sharing.readable(principal).filter(pk=completion_id).first()
    if completion is None:
        raise NotFound("There is no such completion.")
    return completion


def _parse_id(request: PageRequest, name: str) -> UUID | None:
    """The id of the completion in a parameter of the address, None without one.

    raises NotFound for text that is not an id
    """
    public_id = request.GET.get(name, "").strip()
    if not public_id:
        return None
    try:
        return ids.decode("comp", public_id)
    except ValueError:
        raise NotFound("There is no such completion.") from None
