"""What comes in about completions, and the ids that it may name."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import PublicId

PriorityName = Literal["low", "normal", "high"]
ExternalId = Annotated[str, Meta(min_length=1, max_length=255)]
ModelId = Annotated[str, Meta(min_length=1, max_length=200)]


class TaskId(PublicId):
    kind = "task"


class NewCompletion(BodyStruct):
    """One answer of a model: one of `prompt`, `messages` (before the response) and `variables` of the template."""

    task_id: TaskId
    model_id: ModelId
    response: str
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    variables: dict[str, str] | None = None
    external_id: ExternalId | None = None
    metadata: dict[str, Any] | None = None
    priority: PriorityName | None = None
    not_before: str | None = None


class NewBatch(BodyStruct):
    """1 to 10,000 completions; `priority` is that of the items which name none."""

    completions: Annotated[list[NewCompletion], Meta(min_length=1, max_length=10_000)]
    priority: PriorityName | None = None


class BatchQuery(QueryStruct):
    """`partial=true`: take the valid items, and answer 207 with the errors of the others."""

    partial: bool = False


class ScoreQuery(QueryStruct):
    """Seconds to wait for the final score."""

    wait: Annotated[float, Meta(ge=0, le=30)] = 0.0


class CompletionQuery(PageQuery):
    """Filters of the list."""

    task_id: TaskId | None = None
    model_id: str | None = None
    status: Literal["pending", "processing", "completed", "failed"] | None = None
    source: Literal["api", "manual", "telemetry", "evaluation"] | None = None
    external_id: str | None = None
    start_date: str | None = None
    end_date: str | None = None
