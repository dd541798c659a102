"""Request bodies and queries of the operations on completions."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import PublicId

PriorityName = Literal["low", "normal", "high"]
ExternalId = Annotated[str, Meta(min_length=1, max_length=255)]
ModelId = Annotated[str, Meta(min_length=1, max_length=200)]
SourceName = Literal["api", "manual", "telemetry", "evaluation"]
Sources = Annotated[tuple[SourceName, ...], Meta(min_length=1, max_length=4)]


class TaskId(PublicId):
    kind = "task"


class NewCompletion(BodyStruct):
    """One answer of a model, with exactly one of `prompt`, `messages` (those before the response) and `variables`.

    `heldOut` marks an answer that must never be trained on: only `/completions` returns it, and it never changes.
    """

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
    held_out: bool = False


class NewBatch(BodyStruct):
    """A batch of 1 to 10,000 completions; `priority` applies to items without their own."""

    completions: Annotated[list[NewCompletion], Meta(min_length=1, max_length=10_000)]
    priority: PriorityName | None = None


class BatchQuery(QueryStruct):
    """With `partial=true`, the valid items are stored, and the response is a 207 with the errors of the others."""

    partial: bool = False


class ScoreQuery(QueryStruct):
    """How many seconds to wait for the final score."""

    wait: Annotated[float, Meta(ge=0, le=30)] = 0.0


class CompletionQuery(PageQuery):
    """Filters of the list of completions. Without `source`, which is repeatable, it leaves out those of evaluations."""

    task_id: TaskId | None = None
    model_id: str | None = None
    status: Literal["pending", "processing", "completed", "failed", "ungraded"] | None = None
    source: Sources | None = None
    external_id: str | None = None
    start_date: str | None = None
    end_date: str | None = None
