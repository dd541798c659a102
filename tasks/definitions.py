"""Create, change, archive and delete tasks. Each operation is one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, transaction
from msgspec import UNSET, UnsetType

from autotune.access.principal import Principal
from autotune.core.crypto.fields import is_damaged
from autotune.core.errors import Conflict, FieldError, Invalid, NotFound, Unreadable
from tasks import panels, requests, versions
from tasks.models import PanelMember, Task, TaskVersion
from tasks.panels import PanelSeat
from tasks.requests import NewTask, RetryPolicy, ReviewPolicy, TaskPatch
from tasks.responses import NOTHING
from tasks.states import Aggregation

EMPTY: dict[str, Any] = {"systemPrompt": None, "promptTemplate": "", "responseSchema": None, "model": None}
CONTENT = ("system_prompt", "prompt_template", "response_schema", "model")  # members of a version's content
DEFINES = (*CONTENT, "grader_id", "graders", "aggregation")
NAME_CONSTRAINT = "tasks_task_name"


def create(principal: Principal, body: NewTask) -> Task:
    """Create a task of the principal's organization, with its first version.

    raises Invalid, NotFound with a grader's pointer, Conflict `name_taken`
    """
    task_patch = requests.as_patch(body)
    if requests.panel_of(task_patch) is None:
        raise Invalid.field("/graderId", "missing_field", "Give `graderId`, or `graders` for a panel.")
    requests.check(task_patch)
    task = Task(organization=principal.organization, created_by=principal.user)
    with _unique_name(), transaction.atomic():
        for name, value in _columns(task, task_patch).items():
            setattr(task, name, value)
        task.save(force_insert=True)
        task.version = _version(task, task_patch, principal)
        task.save(update_fields=["version"])
    return task


def patch(principal: Principal, task: Task, body: TaskPatch) -> Task:
    """Change a task and return it. A change of what defines it creates a version, or uses an earlier equal version.

    raises Invalid, NotFound (for the task, or with a pointer for a grader), Conflict `name_taken`
    """
    requests.check(body)
    with _unique_name(), transaction.atomic():
        task = _locked(task)
        changes = _columns(task, body) | {"version": _version(task, body, principal)}
        changes = {
            name: value
            for name, value in changes.items()
            if is_damaged(task, name) or _differs(getattr(task, name), value)
        }
        for name, value in changes.items():
            setattr(task, name, value)
        if changes:
            task.save(update_fields=[*changes, "updated_at"])
    return task


def _differs(old: Any, new: Any) -> bool:
    return old != new or (isinstance(new, dict) and new != {})  # to Python, {"a": 1} equals {"a": true}


def archive(task: Task) -> None:
    """Archive the task, which hides it from the usual list. It keeps its name and its completions."""
    with transaction.atomic():
        task = _locked(task)
        if not task.archived:
            task.archived = True
            task.save(update_fields=["archived", "updated_at"])


def delete(task: Task) -> None:
    """Delete a task without completions, with its versions.

    It uses plain statements: Django's collector would load every row that refers to the task, and scan the tables of
    runs and scores. If a row that refers to it is written at the same time, a foreign key makes one commit fail.

    raises Conflict `has_completions`
    """
    conflict = Conflict("The task has completions. Archive it with `?archive=true`.", code="has_completions")
    try:
        with transaction.atomic():
            task = _locked(task, blocks_references=True)
            if task.completions.exists():
                raise conflict
            rows = Task.objects.filter(pk=task.pk)
            rows.update(version=None)
            members = PanelMember.objects.filter(task_version__task=task)
            for queryset in (members, TaskVersion.objects.filter(task=task), rows):
                queryset._raw_delete(queryset.db)
    except IntegrityError as exc:
        raise conflict from exc


def _locked(task: Task, *, blocks_references: bool = False) -> Task:
    """Lock the task's row and return it; `blocks_references` also blocks inserts of rows that refer to it.

    The query does not join the version: after waiting for the lock it could return the version from before a change.
    """
    locked_task = Task.objects.select_for_update(no_key=not blocks_references).filter(pk=task.pk).first()
    if locked_task is None:
        raise NotFound("There is no such task.")
    return locked_task


@contextmanager
def _unique_name() -> Iterator[None]:
    """Turn a violation of the name's constraint into a Conflict. A check beforehand could miss a concurrent request."""
    try:
        yield
    except IntegrityError as exc:
        if NAME_CONSTRAINT not in str(exc) and "tasks_task.name" not in str(exc):  # PostgreSQL, SQLite
            raise
        detail = "Another task of the organization has this name. Choose another name."
        errors = [FieldError("/name", "name_taken", detail)]
        raise Conflict(f"/name: {detail}", code="name_taken", errors=errors) from exc


def _version(task: Task, task_patch: TaskPatch, principal: Principal) -> TaskVersion:
    """The version of the task after the change: the current one if what defines the task stays the same."""
    present = task.version
    if present and all(getattr(task_patch, name) is UNSET for name in DEFINES):
        return present
    before = _content(present, task_patch) if present else EMPTY
    content = dict(before)
    for member, value in (
        ("systemPrompt", task_patch.system_prompt),
        ("promptTemplate", task_patch.prompt_template),
        ("responseSchema", task_patch.response_schema),
        ("model", requests.plain_model(task_patch.model)),
    ):
        if value is not UNSET:
            content[member] = value
    aggregation = present.aggregation if present else Aggregation.MEAN
    if task_patch.aggregation is not UNSET:
        aggregation = task_patch.aggregation or Aggregation.MEAN
    panel = _panel(task, task_patch, principal)
    if present and not is_damaged(present, "content"):
        owner = task.organization_id
        unchanged = versions.digest(owner, before, panels.seats(present), present.aggregation)
        if versions.digest(owner, content, panel, aggregation) == unchanged:
            return present
    return versions.find_or_create(task, content, panel, aggregation, principal.user)


def _content(present: TaskVersion, change: TaskPatch) -> dict[str, Any]:
    """The content of the current version. If it cannot be decrypted, the change must replace all of it.

    raises Unreadable
    """
    if not is_damaged(present, "content"):
        return dict(present.content)
    if any(getattr(change, name) is UNSET for name in CONTENT):
        raise Unreadable(
            "The task's current version cannot be decrypted. To replace it, send systemPrompt, promptTemplate,"
            " responseSchema and model; send null for those without a value."
        )
    return NOTHING


def _panel(task: Task, task_patch: TaskPatch, principal: Principal) -> list[PanelSeat]:
    entries = requests.panel_of(task_patch)
    if entries is None:
        return panels.seats(task.version) if task.version else []
    return panels.resolve(entries, principal=principal, organization=task.organization)


def _columns(task: Task, task_patch: TaskPatch) -> dict[str, Any]:
    """The columns that the change sets; null means the column's default."""
    values: dict[str, Any] = {
        "name": task_patch.name,
        "description": task_patch.description,
        "metadata": task_patch.metadata,
        "deadline_ms": task_patch.deadline_ms,
        "archived": task_patch.archived,
        "share_text": task_patch.share_text,
        "use_calibration": task_patch.use_calibration,
        **_merged(task_patch.retry, ("max_attempts", "backoff_ms", "max_backoff_ms")),
        **_review(task_patch.review),
        **_merged(task_patch.retention, ("text_days",)),
        **_merged(task_patch.options, ("include_dimensions", "include_explanation")),
    }
    if task_patch.model is not UNSET:
        values["model_name"] = requests.model_name(requests.plain_model(task_patch.model))
    columns = {name: _default(name) if value is None else value for name, value in values.items() if value is not UNSET}
    _check_retry(task, columns, task_patch.retry)
    _check_review(task, columns)
    return columns


def _default(name: str) -> Any:
    field: Any = Task._meta.get_field(name)
    return field.get_default()


def _merged(settings: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The members that an object sets; null instead of the object sets all of them to their defaults."""
    if settings is UNSET or settings is None:
        return dict.fromkeys(names, settings)
    return {name: getattr(settings, name) for name in names}


def _review(review: ReviewPolicy | UnsetType | None) -> dict[str, Any]:
    below, blind = _merged(review, ("below_confidence", "blind")).values()
    return {"review_below_confidence": below, "review_blind": blind}


def _check_review(task: Task, columns: dict[str, Any]) -> None:
    """Check that only a task with reviews is blind; without `belowConfidence`, a task is not blind any more."""
    if columns.get("review_below_confidence", task.review_below_confidence) is not None:
        return
    if columns.get("review_blind"):
        raise Invalid.field(
            "/review/belowConfidence", "required", "Blind reviews need a limit: send `belowConfidence` with `blind`."
        )
    if "review_below_confidence" in columns:
        columns["review_blind"] = False


def _check_retry(task: Task, columns: dict[str, Any], retry: Any) -> None:
    first = columns.get("backoff_ms", task.backoff_ms)
    most = columns.get("max_backoff_ms", task.max_backoff_ms)
    if most < first:
        sets_maximum = isinstance(retry, RetryPolicy) and isinstance(retry.max_backoff_ms, int)
        pointer = "/retry/maxBackoffMs" if sets_maximum else "/retry/backoffMs"
        raise Invalid.field(pointer, "out_of_range", f"`maxBackoffMs` ({most}) is less than `backoffMs` ({first}).")
