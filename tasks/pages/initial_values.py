"""What the form of a task shows at first: the values of the task as they are now."""

import json
from collections.abc import Sequence
from typing import Any

from autotune.core import ids
from autotune.core.crypto.fields import LegibleRow
from tasks import panels
from tasks.models import Task
from tasks.responses import NOTHING, content_of
from tasks.states import Aggregation


def initial_values(task: Task | None, grader: str) -> dict[str, Any]:
    """Return the form's initial values by field; `grader` is the public id with which a new task's panel begins."""
    if task is None:
        fresh = Task()
        return {
            **_settings(fresh),
            "aggregation": str(Aggregation.MEAN),
            "grader_0": grader,
            "weight_0": 1.0 if grader else None,
        }
    version: Any = task.version
    content = content_of(version) or NOTHING
    model = content["model"]
    members = model if isinstance(model, dict) else {"name": model}
    rows: Sequence[Any] = panels.seats(version)
    panel = {
        f"{name}_{at}": value
        for at, seat in enumerate(rows)
        for name, value in (
            ("grader", ids.encode("grader", seat.grader_id)),
            ("weight", seat.weight),
            ("part", seat.part),
        )
    }
    return {
        **_settings(task), **panel,
        "name": task.name, "description": task.description, "metadata": _json(LegibleRow(task).metadata or None),
        "system_prompt": content["systemPrompt"], "prompt_template": content["promptTemplate"],
        "response_schema": _json(content["responseSchema"]), "model__name": members.get("name"),
        "model__provider": members.get("provider"), "model__params": _json(members.get("params")),
        "aggregation": version.aggregation, "seen": stamp(task),
    }  # fmt: skip


def text_members(task: Task | None) -> dict[str, str]:
    """The texts that the task has now, by their members in the body."""
    if task is None:
        return {}
    version: Any = task.version
    content = content_of(version) or NOTHING
    return {
        "description": task.description,
        "systemPrompt": content["systemPrompt"] or "",
        "promptTemplate": content["promptTemplate"] or "",
    }


def _settings(task: Task) -> dict[str, Any]:
    return {
        "retry__max_attempts": task.max_attempts, "retry__backoff_ms": task.backoff_ms,
        "retry__max_backoff_ms": task.max_backoff_ms, "deadline_ms": task.deadline_ms,
        "review__below_confidence": task.review_below_confidence, "review__blind": task.review_blind,
        "retention__text_days": task.text_days,
        "options__include_dimensions": task.include_dimensions,
        "options__include_explanation": task.include_explanation,
        "share_text": task.share_text, "use_calibration": task.use_calibration, "archived": task.archived,
    }  # fmt: skip


def stamp(task: Task) -> str:
    """A value that identifies the current state of the task."""
    return f"{task.version_id}.{task.updated_at.isoformat()}"


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
