"""Create and manage tasks: what a model is asked, and who judges its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from .. import _wire
from ..models.pages import Page
from ..models.tasks import PanelMember, Task, TaskDetail, TaskVersion
from ._base import Resource, member, segment, wire_members

Panel = Iterable[PanelMember | Mapping[str, Any]]
STRUCTURES = ("graders", "review", "retry", "options", "retention")


class TaskFields(TypedDict, total=False):
    """The optional members of a task. Structures take snake_case mappings; JSON of yours is sent as it is."""

    description: str | None
    system_prompt: str | None
    response_schema: Any
    model: Any
    grader_id: str | None
    graders: Panel | None
    rubric: Mapping[str, Any] | None
    aggregation: str | None
    review: Mapping[str, Any] | None
    retry: Mapping[str, Any] | None
    deadline_ms: int | None
    options: Mapping[str, Any] | None
    retention: Mapping[str, Any] | None
    share_text: bool | None
    use_calibration: bool | None
    metadata: Mapping[str, Any] | None


class TaskChanges(TaskFields, total=False):
    """The parameters of `update`."""

    name: str
    prompt_template: str
    archived: bool


class Tasks(Resource):
    """`client.tasks`."""

    def create(
        self, *, name: str, prompt_template: str, idempotency_key: str | None = None, **fields: Unpack[TaskFields]
    ) -> Task:
        """Create a task. Give one of `grader_id`, `graders` (a panel) and `rubric`; None values are omitted."""
        body = wire_members({"name": name, "prompt_template": prompt_template, **_structures(fields)})
        answer = self._transport.post("/tasks", _wire.dumps(body), idempotency_key=idempotency_key)
        return _wire.decode(Task, member(answer, "task"))

    def list(
        self,
        *,
        search: str | None = None,
        grader_id: str | None = None,
        model: str | None = None,
        archived: bool | None = None,
        sort: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Task]:
        """Return one page of tasks."""
        parameters = {
            "search": search,
            "grader_id": grader_id,
            "model": model,
            "archived": archived,
            "sort": sort,
            "limit": limit,
            "offset": offset,
            "cursor": cursor,
        }
        return self._page("/tasks", "tasks", Task, parameters)

    def get(self, task_id: str) -> TaskDetail:
        """Return one task, with a summary of its evaluation runs."""
        answer = self._transport.get(f"/tasks/{segment(task_id)}")
        task = member(answer, "task")
        extra = {name: answer.get(name) for name in ("runCount", "averageScore", "recentRuns")}
        return _wire.decode(TaskDetail, {**task, **extra})

    def update(self, task_id: str, **changes: Unpack[TaskChanges]) -> Task:
        """Change the given members; None clears one. A change of what defines the task creates a new version."""
        body = {_wire.camel(name): value for name, value in _structures(changes).items()}
        answer = self._transport.patch(f"/tasks/{segment(task_id)}", _wire.dumps(body))
        return _wire.decode(Task, member(answer, "task"))

    def delete(self, task_id: str, *, archive: bool = False) -> None:
        """Delete a task without completions, or else with `archive` archive it. Otherwise raises ConflictError."""
        self._transport.delete(f"/tasks/{segment(task_id)}", {"archive": True if archive else None})

    def versions(self, task_id: str) -> tuple[TaskVersion, ...]:
        """Return the versions of a task, the newest first."""
        path, versions, parameters = f"/tasks/{segment(task_id)}/versions", [], None
        while True:
            answer = self._transport.get(path, parameters)
            versions += [_wire.decode(TaskVersion, version) for version in member(answer, "versions")]
            cursor = (answer.get("pagination") or {}).get("nextCursor")
            if not cursor:
                return tuple(versions)
            parameters = {"cursor": cursor}


def _structures(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the API's own structures to camelCase; JSON that users wrote stays unchanged."""
    out = dict(fields)
    for name in STRUCTURES:
        if out.get(name) is not None:
            value = out[name] if isinstance(out[name], Mapping) else list(out[name]) if name == "graders" else out[name]
            out[name] = _wire.camel_members(value)
    return out
