"""Response bodies of the operations on tasks. The members have the order of the contract."""

from typing import Any, Final

from msgspec import UNSET, UnsetType

from autotune.core import clock, ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.crypto.fields import LegibleRow
from tasks.models import Task, TaskVersion
from tasks.states import Aggregation, PanelPart

DEFINING: Final = ("systemPrompt", "promptTemplate", "responseSchema", "model")  # members of a version's content
NOTHING: Final[dict[str, Any]] = dict.fromkeys(DEFINING)


class PanelOut(ApiStruct):
    grader_id: str
    weight: float
    part: PanelPart


class ModelOut(ApiStruct):
    provider: str
    name: str
    params: dict[str, Any] | None


class ReviewPolicyOut(ApiStruct):
    """Scores with a confidence below `belowConfidence` wait for a reviewer.

    With `blind`, nobody sees the grader's verdict before a person has decided.
    """

    below_confidence: float
    blind: bool


class RetryOut(ApiStruct):
    max_attempts: int
    backoff_ms: int
    max_backoff_ms: int


class TaskOptionsOut(ApiStruct):
    include_dimensions: bool
    include_explanation: bool


class TaskRetentionOut(ApiStruct):
    text_days: int | None


class TaskOut(ApiStruct):
    """A task. `graderId` is the only or first scoring grader, null for a deck without graders; `version` is the current
    version's id.

    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    id: str
    name: str
    description: str | None
    system_prompt: str | None
    prompt_template: str | None
    response_schema: dict[str, Any] | None
    model: ModelOut | str | None
    grader_id: str | None
    graders: list[PanelOut]
    aggregation: Aggregation
    review: ReviewPolicyOut | None
    retry: RetryOut
    deadline_ms: int
    options: TaskOptionsOut
    retention: TaskRetentionOut
    share_text: bool
    use_calibration: bool
    metadata: dict[str, Any] | None
    version: str
    archived: bool
    created_by: str
    created_at: str
    updated_at: str
    unreadable: list[str] | UnsetType = UNSET


class TaskCreated(ApiStruct):
    id: str
    task: TaskOut


class TaskAnswer(ApiStruct):
    task: TaskOut


class TaskPage(ApiStruct):
    tasks: list[TaskOut]
    pagination: Pagination


class TaskVersionOut(ApiStruct):
    """A version. The digest covers its members from `systemPrompt` to `aggregation`, under the organization's key.

    `unreadable` names the members that are null because they cannot be decrypted; it is absent otherwise.
    """

    id: str
    digest: str
    current: bool
    system_prompt: str | None
    prompt_template: str | None
    response_schema: dict[str, Any] | None
    model: ModelOut | str | None
    graders: list[PanelOut]
    aggregation: Aggregation
    created_at: str
    unreadable: list[str] | UnsetType = UNSET


class TaskVersionList(ApiStruct):
    """A page of versions. `limit` is smaller than requested if more versions would be too long for one response."""

    versions: list[TaskVersionOut]
    pagination: Pagination


def task_out(task: Task) -> TaskOut:
    """Return the task with its current version; makes no query for a task of `with_panel()`."""
    version = task.version
    assert version is not None
    text = LegibleRow(task)
    metadata: Any = text.metadata
    content = content_of(version)
    unreadable = [*(DEFINING if content is None else ()), *text.unreadable] or UNSET
    content = content or NOTHING
    graders = _panel(version)
    return TaskOut(
        id=task.public_id,
        name=task.name,
        description=task.description or None,
        system_prompt=content["systemPrompt"],
        prompt_template=content["promptTemplate"],
        response_schema=content["responseSchema"],
        model=_model(content["model"]),
        grader_id=next((member.grader_id for member in graders if member.part is PanelPart.SCORING), None),
        graders=graders,
        aggregation=Aggregation(version.aggregation),
        review=_review(task),
        retry=RetryOut(task.max_attempts, task.backoff_ms, task.max_backoff_ms),
        deadline_ms=task.deadline_ms,
        options=TaskOptionsOut(task.include_dimensions, task.include_explanation),
        retention=TaskRetentionOut(task.text_days),
        share_text=task.share_text,
        use_calibration=task.use_calibration,
        metadata=metadata,
        version=version.public_id,
        archived=task.archived,
        created_by=ids.encode("user", task.created_by_id),
        created_at=clock.wire(task.created_at),
        updated_at=clock.wire(task.updated_at),
        unreadable=unreadable,
    )


def content_of(version: TaskVersion) -> dict[str, Any] | None:
    """Return a version's `systemPrompt`, `promptTemplate`, `responseSchema` and `model`; None if they are damaged."""
    content: dict[str, Any] | None = LegibleRow(version).content
    return content


def version_out(version: TaskVersion, *, current: bool) -> TaskVersionOut:
    """Return a version with its panel; makes no query if its members were fetched."""
    content = content_of(version)
    unreadable = UNSET if content is not None else list(DEFINING)
    content = content or NOTHING
    return TaskVersionOut(
        id=version.public_id,
        digest=version.digest,
        current=current,
        system_prompt=content["systemPrompt"],
        prompt_template=content["promptTemplate"],
        response_schema=content["responseSchema"],
        model=_model(content["model"]),
        graders=_panel(version),
        aggregation=Aggregation(version.aggregation),
        created_at=clock.wire(version.created_at),
        unreadable=unreadable,
    )


def _panel(version: TaskVersion) -> list[PanelOut]:
    return [
        PanelOut(ids.encode("grader", member.grader_id), member.weight, PanelPart(member.part))
        for member in version.members.all()
    ]


def _review(task: Task) -> ReviewPolicyOut | None:
    below = task.review_below_confidence
    return None if below is None else ReviewPolicyOut(below, task.review_blind)


def _model(model: Any) -> ModelOut | str | None:
    return ModelOut(**model) if isinstance(model, dict) else model
