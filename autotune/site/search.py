"""The search of every page: an id leads to its object, a word to what has it in its name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from autotune.access.frame.entry import PageRequest, page
from autotune.access.models import Organization
from autotune.access.principal import Principal
from autotune.core import ids
from exports.models import Export
from graders.models import Grader
from scores.models import Review, Score, WorkflowRun
from tasks.models import Completion, Task

SHOWN: Final = 8
MAX_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class Found:
    """One result. `kind` is the word for what it is, `note` what tells it from others of its name."""

    kind: str
    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """How an id of this kind is found: the page's route with the name of its parameter, and what may be seen."""

    word: str
    route: str
    parameter: str
    visible: Callable[[Principal], Any]


KINDS: Final[dict[str, Kind]] = {
    "grader": Kind("grader", "grader", "grader_id", lambda p: Grader.objects.live().visible_to(p)),
    "task": Kind("task", "task", "task_id", lambda p: Task.objects.visible_to(p)),
    "comp": Kind("completion", "completion", "completion_id", lambda p: Completion.objects.visible_to(p)),
    "score": Kind("score", "score", "score_id", lambda p: Score.objects.visible_to(p)),
    "run": Kind("run", "run", "run_id", lambda p: WorkflowRun.objects.visible_to(p)),
    "rev": Kind("review", "review", "review_id", lambda p: Review.objects.visible_to(p)),
    "exp": Kind("export", "export", "export_id", lambda p: Export.objects.visible_to(p)),
}


@page()
def results(request: PageRequest) -> HttpResponse:
    """What the search finds; htmx takes its list alone."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:MAX_TEXT]
    found = find(request.principal, text) if text else []
    return render(request, "site/search.html", {"title": "Search", "search_text": text, "found": found})


def find(principal: Principal, text: str) -> list[Found]:
    """The object whose id it is, else what the principal may see with the text in its name, tasks and graders."""
    kind, _, _ = text.rpartition("_")
    if kind in KINDS:
        return _by_id(principal, kind, text)
    graders = Grader.objects.live().visible_to(principal).matching(search=text).select_related("organization")
    tasks = Task.objects.visible_to(principal).search(text)
    return [
        *(Found("task", one.name, _url("task", one.pk)) for one in tasks.order_by("name", "pk")[:SHOWN]),
        *(
            Found("grader", one.name, _url("grader", one.pk), _foreign(one.organization, principal))
            for one in graders.order_by("name", "pk")[:SHOWN]
        ),
    ]


def _by_id(principal: Principal, kind: str, text: str) -> list[Found]:
    known = KINDS[kind]
    try:
        pk = ids.decode(kind, text)
    except ValueError:
        return []
    if not known.visible(principal).filter(pk=pk).exists():
        return []
    return [Found(known.word, text, _url(kind, pk))]


def _url(kind: str, pk: Any) -> str:
    return reverse(KINDS[kind].route, kwargs={KINDS[kind].parameter: pk})


def _foreign(organization: Organization, principal: Principal) -> str:
    return "" if organization.pk == principal.organization.pk else organization.name
