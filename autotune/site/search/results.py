"""What a search finds: an object by its id, or by a text in its name; never what the principal may not see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery
from django.urls import NoReverseMatch, reverse

from autotune.access.principal import Principal
from autotune.access.querysets import api_keys, members, roles
from autotune.core import ids
from autotune.webhooks.models import Webhook
from exports.models import Export
from graders.models import Grader, GraderVersion
from scores.models import Review, RewardEndpoint, Score, WorkflowRun
from tasks.models import Completion, Task, TaskVersion

SHOWN: Final = 8  # of each kind
NEWEST: Final = 2_000  # completions whose models can be found by name: there is no index of models


@dataclass(frozen=True, slots=True)
class Found:
    """One result. `kind` is the word for what it is, `note` what tells it from others of its name."""

    kind: str
    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """How an id of this kind is found.

    route, parameter  of the page that shows it
    visible           what of it the principal may see
    shown_by          the column of the id that the page takes, where that is another object's
    key               the column of the public id
    """

    word: str
    route: str
    parameter: str
    visible: Callable[[Principal], Any]
    shown_by: str = "pk"
    key: str = "pk"


KINDS: Final[dict[str, Kind]] = {
    "grader": Kind("grader", "grader", "grader_id", lambda p: Grader.objects.live().visible_to(p)),
    "graderv": Kind("version", "grader", "grader_id", lambda p: GraderVersion.objects.visible_to(p), "grader_id"),
    "task": Kind("task", "task", "task_id", lambda p: Task.objects.visible_to(p)),
    "taskv": Kind("version", "task", "task_id", lambda p: TaskVersion.objects.visible_to(p), "task_id"),
    "comp": Kind("completion", "completion", "completion_id", lambda p: Completion.objects.visible_to(p)),
    "score": Kind("score", "score", "score_id", lambda p: Score.objects.visible_to(p)),
    "run": Kind("run", "run", "run_id", lambda p: WorkflowRun.objects.visible_to(p)),
    "rev": Kind("review", "review", "review_id", lambda p: Review.objects.visible_to(p)),
    "exp": Kind("export", "export", "export_id", lambda p: Export.objects.visible_to(p)),
    "rwd": Kind("endpoint", "reward_endpoint", "endpoint_id", lambda p: RewardEndpoint.objects.visible_to(p)),
    "whk": Kind("webhook", "webhook", "webhook_id", lambda p: Webhook.objects.live().visible_to(p)),
    "member": Kind("member", "member", "member_id", lambda p: members().visible_to(p), "uid", "uid"),
    "key": Kind("API key", "api_key", "key_id", lambda p: api_keys().visible_to(p)),
    "role": Kind("role", "role", "role_id", lambda p: roles().visible_to(p)),
}


def find(principal: Principal, text: str) -> list[Found]:
    """What has this id, else what has the text in its name; what has no page here is left out."""
    kind, _, _ = text.rpartition("_")
    if kind in KINDS and (found := _by_id(principal, kind, text)):
        return found
    by_name = (_tasks, _graders, _endpoints, _webhooks, _models, _members, _keys)
    return [found for search in by_name for found in search(principal, text) if found.url]


def _by_id(principal: Principal, kind: str, text: str) -> list[Found]:
    known = KINDS[kind]
    try:
        pk = ids.decode(kind, text)
    except ValueError:
        return []
    shown = known.visible(principal).filter(**{known.key: pk}).values_list(known.shown_by, flat=True).first()
    url = _url(kind, shown) if shown else ""
    return [Found(known.word, text, url)] if url else []


def _tasks(principal: Principal, text: str) -> Iterator[Found]:
    tasks = Task.objects.visible_to(principal).search(text).order_by("name", "pk")
    for pk, name in tasks.values_list("pk", "name")[:SHOWN]:
        yield Found("task", name, _url("task", pk))


def _graders(principal: Principal, text: str) -> Iterator[Found]:
    graders = Grader.objects.live().visible_to(principal).matching(search=text)
    for one in graders.order_by("name", "pk")[:SHOWN]:
        yield Found("grader", one.name, _url("grader", one.pk), _foreign(one.organization_id, principal))


def _endpoints(principal: Principal, text: str) -> Iterator[Found]:
    """They have no name of their own: the model's tells which, and the task's where the principal sees the task."""
    seen = Task.objects.visible_to(principal).filter(pk=OuterRef("task_id")).order_by().values("name")[:1]
    named = Q(model_id__icontains=text) | Q(task_name__icontains=text)
    rows = RewardEndpoint.objects.visible_to(principal).annotate(task_name=Subquery(seen)).filter(named)
    for pk, task, model in rows.order_by("task_name", "pk").values_list("pk", "task_name", "model_id")[:SHOWN]:
        yield Found("endpoint", task or model, _url("rwd", pk), model if task else "")


def _webhooks(principal: Principal, text: str) -> Iterator[Found]:
    """By what was written of them; their addresses are ciphertext."""
    rows = Webhook.objects.live().visible_to(principal).filter(description__icontains=text).order_by("-pk")
    for pk, description in rows.values_list("pk", "description")[:SHOWN]:
        yield Found("webhook", description, _url("whk", pk))


def _models(principal: Principal, text: str) -> Iterator[Found]:
    newest = Completion.objects.visible_to(principal).order_by("-pk").values_list("model_id", flat=True)[:NEWEST]
    names = sorted({name for name in newest if text.casefold() in name.casefold()})
    for name in names[:SHOWN]:
        yield Found("model", name, _page("completions", modelId=name))


def _members(principal: Principal, text: str) -> Iterator[Found]:
    named = Q(user__name__icontains=text) | Q(user__email__icontains=text)
    rows = members().visible_to(principal).filter(named, user__isnull=False).order_by("user__email", "pk")
    for uid, name, email in rows.values_list("uid", "user__name", "user__email")[:SHOWN]:
        yield Found("member", name or email, _url("member", uid), email if name else "")


def _keys(principal: Principal, text: str) -> Iterator[Found]:
    rows = api_keys().visible_to(principal).filter(name__icontains=text, revoked_at=None).order_by("name", "pk")
    for pk, name, last_four in rows.values_list("pk", "name", "last_four")[:SHOWN]:
        yield Found("API key", name, _url("key", pk), f"…{last_four}")


def _url(kind: str, pk: Any) -> str:
    known = KINDS[kind]
    try:
        return reverse(known.route, kwargs={known.parameter: pk})
    except NoReverseMatch:
        return ""


def _page(route: str, **filters: str) -> str:
    try:
        return reverse(route, query=filters)
    except NoReverseMatch:
        return ""


def _foreign(organization_id: UUID, principal: Principal) -> str:
    """Whose it is, as the API says it of what others list: by id."""
    return "" if organization_id == principal.organization.pk else ids.encode("org", organization_id)
