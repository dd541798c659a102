"""Search for pages, acts and objects, by id, external id or a part of the name, among those that the role permits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.urls import NoReverseMatch, reverse

from autotune.access.principal import Principal
from autotune.access.querysets import api_keys, members, roles
from autotune.core import ids
from autotune.site.search import acts
from autotune.webhooks.models import Webhook
from exports.models import Export
from graders.models import Grader, GraderVersion
from scores.models import Review, RewardEndpoint, Score, WorkflowRun
from tasks.models import Completion, Task, TaskVersion

SHOWN: Final = 8  # of each kind
TASKS: Final = 500  # the newest, in which external ids are searched: the index of external ids begins with the task
NEWEST: Final = 2_000  # completions whose models can be found by name: there is no index of models


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """One result. `kind` is the word for what it is; `note` distinguishes it from others of its name."""

    kind: str
    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class SearchKind:
    """How the search finds objects of one kind by id.

    route, parameter  of the page that shows it
    visible           returns the objects that the principal may see
    shown_by          the column of the id that the page takes, if the page shows another object
    key               the column of the public id
    """

    word: str
    route: str
    parameter: str
    visible: Callable[[Principal], Any]
    shown_by: str = "pk"
    key: str = "pk"


KINDS: Final[dict[str, SearchKind]] = {
    "grader": SearchKind("grader", "grader", "grader_id", lambda p: Grader.objects.live().visible_to(p)),
    "graderv": SearchKind("version", "grader", "grader_id", lambda p: GraderVersion.objects.visible_to(p), "grader_id"),
    "task": SearchKind("task", "task", "task_id", lambda p: Task.objects.visible_to(p)),
    "taskv": SearchKind("version", "task", "task_id", lambda p: TaskVersion.objects.visible_to(p), "task_id"),
    "comp": SearchKind("completion", "completion", "completion_id", lambda p: Completion.objects.visible_to(p)),
    "score": SearchKind("score", "score", "score_id", lambda p: Score.objects.visible_to(p)),
    "run": SearchKind("workflow run", "workflow_run", "run_id", lambda p: WorkflowRun.objects.visible_to(p)),
    "rev": SearchKind("review", "review", "review_id", lambda p: Review.objects.visible_to(p)),
    "exp": SearchKind("export", "export", "export_id", lambda p: Export.objects.visible_to(p)),
    "rwd": SearchKind("endpoint", "reward_endpoint", "endpoint_id", lambda p: RewardEndpoint.objects.visible_to(p)),
    "whk": SearchKind("webhook", "webhook", "webhook_id", lambda p: Webhook.objects.live().visible_to(p)),
    "member": SearchKind("member", "member", "member_id", lambda p: members().visible_to(p), "uid", "uid"),
    "key": SearchKind("API key", "api_key", "key_id", lambda p: api_keys().visible_to(p)),
    "role": SearchKind("role", "role", "role_id", lambda p: roles().visible_to(p)),
}


def find(principal: Principal, text: str) -> list[SearchMatch]:
    """Return the object with this id, or else pages, acts and objects with the text in their name."""
    kind, _, _ = text.rpartition("_")
    if kind in KINDS and (matches := _by_id(principal, kind, text)):
        return matches
    searches = (
        _places, _tasks, _graders, _completions, _endpoints, _webhooks, _models, _members, _keys, _rotations
    )  # fmt: skip
    return [match for search in searches for match in search(principal, text) if match.url]


def _by_id(principal: Principal, kind: str, text: str) -> list[SearchMatch]:
    definition = KINDS[kind]
    try:
        pk = ids.decode(kind, text)
    except ValueError:
        return []
    page_id = (
        definition.visible(principal).filter(**{definition.key: pk}).values_list(definition.shown_by, flat=True).first()
    )
    url = _url(kind, page_id) if page_id else ""
    return [SearchMatch(definition.word, text, url)] if url else []


def _places(principal: Principal, text: str) -> Iterator[SearchMatch]:
    for kind, label, url in acts.labels(principal, text):
        yield SearchMatch(kind, label, url)


def _rotations(principal: Principal, text: str) -> Iterator[SearchMatch]:
    for grader in acts.rotatable(principal, text, SHOWN):
        url = _route("grader_rotate", grader_id=grader.pk)
        yield SearchMatch("action", f"{acts.ROTATION} {grader.name}", url)


def _completions(principal: Principal, text: str) -> Iterator[SearchMatch]:
    """Find completions by their whole external id."""
    tasks = list(Task.objects.visible_to(principal).order_by("-pk").values_list("pk", flat=True)[:TASKS])
    rows = Completion.objects.visible_to(principal).filter(task_id__in=tasks, external_id=text).order_by()
    for pk, model in rows.values_list("pk", "model_id")[:SHOWN]:
        yield SearchMatch("completion", text, _url("comp", pk), model)


def _tasks(principal: Principal, text: str) -> Iterator[SearchMatch]:
    tasks = Task.objects.visible_to(principal).search(text).order_by("name", "pk")
    for pk, name in tasks.values_list("pk", "name")[:SHOWN]:
        yield SearchMatch("task", name, _url("task", pk))


def _graders(principal: Principal, text: str) -> Iterator[SearchMatch]:
    graders = Grader.objects.live().visible_to(principal).matching(search=text)
    for grader in graders.order_by("name", "pk")[:SHOWN]:
        yield SearchMatch("grader", grader.name, _url("grader", grader.pk), _foreign(grader.organization_id, principal))


def _endpoints(principal: Principal, text: str) -> Iterator[SearchMatch]:
    """Find endpoints, which have no name, by their model, and by their task if the principal sees the task."""
    task_names = Task.objects.visible_to(principal).filter(pk=OuterRef("task_id")).order_by().values("name")[:1]
    has_text = Q(model_id__icontains=text) | Q(task_name__icontains=text)
    rows = RewardEndpoint.objects.visible_to(principal).annotate(task_name=Subquery(task_names)).filter(has_text)
    for pk, task, model in rows.order_by("task_name", "pk").values_list("pk", "task_name", "model_id")[:SHOWN]:
        yield SearchMatch("endpoint", task or model, _url("rwd", pk), model if task else "")


def _webhooks(principal: Principal, text: str) -> Iterator[SearchMatch]:
    """Find webhooks by their description; their addresses are ciphertext."""
    rows = Webhook.objects.live().visible_to(principal).filter(description__icontains=text).order_by("-pk")
    for pk, description in rows.values_list("pk", "description")[:SHOWN]:
        yield SearchMatch("webhook", description, _url("whk", pk))


def _models(principal: Principal, text: str) -> Iterator[SearchMatch]:
    newest = Completion.objects.visible_to(principal).order_by("-pk").values_list("model_id", flat=True)[:NEWEST]
    names = sorted({name for name in newest if text.casefold() in name.casefold()})
    for name in names[:SHOWN]:
        yield SearchMatch("model", name, _page("completions", modelId=name))


def _members(principal: Principal, text: str) -> Iterator[SearchMatch]:
    has_text = Q(user__name__icontains=text) | Q(user__email__icontains=text)
    rows = members().visible_to(principal).filter(has_text, user__isnull=False).order_by("user__email", "pk")
    for uid, name, email in rows.values_list("uid", "user__name", "user__email")[:SHOWN]:
        yield SearchMatch("member", name or email, _url("member", uid), email if name else "")


def _keys(principal: Principal, text: str) -> Iterator[SearchMatch]:
    rows = api_keys().visible_to(principal).filter(name__icontains=text, revoked_at=None).order_by("name", "pk")
    for pk, name, last_four in rows.values_list("pk", "name", "last_four")[:SHOWN]:
        yield SearchMatch("API key", name, _url("key", pk), f"…{last_four}")


def _url(kind: str, pk: Any) -> str:
    definition = KINDS[kind]
    return _route(definition.route, **{definition.parameter: pk})


def _route(route: str, **parameters: Any) -> str:
    try:
        return reverse(route, kwargs=parameters)
    except NoReverseMatch:
        return ""


def _page(route: str, **filters: str) -> str:
    try:
        return reverse(route, query=filters)
    except NoReverseMatch:
        return ""


def _foreign(organization_id: UUID, principal: Principal) -> str:
    """Return the id of the owning organization, as the API does; '' for the principal's own."""
    return "" if organization_id == principal.organization.pk else ids.encode("org", organization_id)
