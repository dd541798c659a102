"""Request bodies and queries of the operations on tasks, and the rules that types cannot express."""

from typing import Annotated, Any

import msgspec
from django.conf import settings
from msgspec import UNSET, Meta, UnsetType

from autotune.core.api import parsing
from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from autotune.core.api.parsing import PublicId
from autotune.core.errors import FieldError
from tasks import schemas
from tasks.states import Aggregation, PanelPart

MAX_PANEL = 32
DAY_MS = 86_400_000
MAX_DAYS = 36_500

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]
Description = Annotated[str, Meta(max_length=10_000)]
Template = Annotated[str, Meta(min_length=1, pattern=r"\S")]
Weight = Annotated[float, Meta(ge=0, le=1)]
Attempts = Annotated[int, Meta(ge=1, le=20)]
Backoff = Annotated[int, Meta(ge=0, le=DAY_MS)]
Deadline = Annotated[int, Meta(ge=1000, le=30 * DAY_MS)]


class GraderId(PublicId):
    kind = "grader"
    __slots__ = ()


class PanelEntry(BodyStruct):
    """A grader in a panel. The default weight is 1, and the default part is `scoring`."""

    grader_id: GraderId
    weight: Weight | None = None
    part: PanelPart | None = None


Panel = Annotated[list[PanelEntry], Meta(min_length=1, max_length=MAX_PANEL)]


class RetryPolicy(BodyStruct):
    """The number of attempts for a score, and the delay between them, which doubles up to `maxBackoffMs`.

    Null sets the default.
    """

    max_attempts: Attempts | UnsetType | None = UNSET
    backoff_ms: Backoff | UnsetType | None = UNSET
    max_backoff_ms: Backoff | UnsetType | None = UNSET


class ReviewPolicy(BodyStruct):
    """Scores with a confidence below `belowConfidence` wait for a reviewer. Null, the default: no score waits.

    With `blind`, nobody sees the grader's verdict before a person has decided. Null sets the default, which is false.
    """

    below_confidence: Annotated[float, Meta(ge=0, le=1)] | UnsetType | None = UNSET
    blind: bool | UnsetType | None = UNSET


class TaskOptions(BodyStruct):
    """What Autotune requests from graders. Null sets the default, which is true."""

    include_dimensions: bool | UnsetType | None = UNSET
    include_explanation: bool | UnsetType | None = UNSET


class RetentionPolicy(BodyStruct):
    """The number of days for which prompts and responses are kept. Null: as long as the organization keeps them."""

    text_days: Annotated[int, Meta(ge=1, le=MAX_DAYS)] | UnsetType | None = UNSET


class ModelSpec(BodyStruct):
    """The model that generates answers in evaluation runs."""

    provider: Name
    name: Name
    params: dict[str, Any] | None = None


class NewTask(BodyStruct):
    """A new task, with exactly one of `graderId` (a panel of one grader) and `graders`."""

    name: Name
    prompt_template: Template
    grader_id: GraderId | None = None
    graders: Panel | None = None
    description: Description | None = None
    system_prompt: str | None = None
    response_schema: dict[str, Any] | None = None
    model: ModelSpec | Name | None = None
    aggregation: Aggregation | None = None
    review: ReviewPolicy | None = None
    retry: RetryPolicy | None = None
    deadline_ms: Deadline | None = None
    options: TaskOptions | None = None
    retention: RetentionPolicy | None = None
    share_text: bool | None = None
    use_calibration: bool | None = None
    metadata: dict[str, Any] | None = None


class TaskPatch(BodyStruct):
    """Changes of a task. `options`, `retry`, `review` and `retention` are merged member by member, others are replaced.

    Null sets the default.
    """

    name: Name | UnsetType = UNSET
    prompt_template: Template | UnsetType = UNSET
    grader_id: GraderId | UnsetType = UNSET
    graders: Panel | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    system_prompt: str | UnsetType | None = UNSET
    response_schema: dict[str, Any] | UnsetType | None = UNSET
    model: ModelSpec | Name | UnsetType | None = UNSET
    aggregation: Aggregation | UnsetType | None = UNSET
    review: ReviewPolicy | UnsetType | None = UNSET
    retry: RetryPolicy | UnsetType | None = UNSET
    deadline_ms: Deadline | UnsetType | None = UNSET
    options: TaskOptions | UnsetType | None = UNSET
    retention: RetentionPolicy | UnsetType | None = UNSET
    share_text: bool | UnsetType | None = UNSET
    use_calibration: bool | UnsetType | None = UNSET
    metadata: dict[str, Any] | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET


class TaskQuery(PageQuery):
    """Filters of the list of tasks. Without `archived` the list has only tasks that are not archived."""

    search: Annotated[str, Meta(max_length=200)] | None = None
    grader_id: GraderId | None = None
    model: Annotated[str, Meta(max_length=200)] | None = None
    archived: bool = False


class VersionQuery(PageQuery):
    """The page of a list of versions. By default one page has all versions, unless they are too many or too long."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 1000


class TaskDeletion(QueryStruct):
    """How to delete a task: `archive=true` archives it instead, whether or not it has completions."""

    archive: bool = False


def as_patch(body: NewTask) -> TaskPatch:
    """Return a new task as changes of an empty task: members that are null or absent have their defaults."""
    members = {name: getattr(body, name) for name in body.__struct_fields__}
    return TaskPatch(**{name: value for name, value in members.items() if value is not None})


def check(task_patch: TaskPatch) -> None:
    """Check the rules that types cannot express.

    raises Invalid with a pointer for each member that breaks one
    """
    errors = [*_texts(task_patch), *_free_values(task_patch), *_panel(task_patch)]
    if errors:
        raise parsing.invalid(errors)


def panel_of(task_patch: TaskPatch) -> list[tuple[str, PanelEntry]] | None:
    """Return the panel's entries, each with the pointer of its grader; None if the body has no panel."""
    if task_patch.grader_id is not UNSET:
        return [("/graderId", PanelEntry(grader_id=task_patch.grader_id))]
    if task_patch.graders is not UNSET:
        return [(f"/graders/{index}/graderId", entry) for index, entry in enumerate(task_patch.graders)]
    return None


def _texts(task_patch: TaskPatch) -> list[FieldError]:
    errors = [parsing.check_line(task_patch.name, "/name")] if isinstance(task_patch.name, str) else []
    for pointer, value in (
        ("/promptTemplate", task_patch.prompt_template),
        ("/systemPrompt", task_patch.system_prompt),
    ):
        if isinstance(value, str):
            errors.append(parsing.check_text(value, pointer, max_bytes=settings.MAX_TEXT_BYTES))
    return [error for error in errors if error]


def _free_values(task_patch: TaskPatch) -> list[FieldError]:
    errors = []
    if isinstance(task_patch.response_schema, dict):
        errors += schemas.check(task_patch.response_schema, "/responseSchema")
    if isinstance(task_patch.model, ModelSpec) and (
        error := parsing.check_metadata(task_patch.model.params, "/model/params")
    ):
        errors.append(error)
    if isinstance(task_patch.metadata, dict) and (error := parsing.check_metadata(task_patch.metadata, "/metadata")):
        errors.append(error)
    return errors


def _panel(task_patch: TaskPatch) -> list[FieldError]:
    if task_patch.grader_id is not UNSET and task_patch.graders is not UNSET:
        return [FieldError("/graderId", "mutually_exclusive", "Give either `graderId` or `graders`.")]
    if task_patch.graders is UNSET:
        return []
    errors, seen = [], set()
    for index, entry in enumerate(task_patch.graders):
        if entry.grader_id in seen:
            errors.append(FieldError(f"/graders/{index}/graderId", "duplicate", "This grader is named twice."))
        seen.add(entry.grader_id)
    scoring = [entry for entry in task_patch.graders if entry.part is not PanelPart.SHADOW]
    if not scoring:
        errors.append(FieldError("/graders", "no_scoring_grader", "At least one grader must have the part `scoring`."))
    elif sum(1.0 if entry.weight is None else entry.weight for entry in scoring) <= 0:
        errors.append(FieldError("/graders", "no_weight", "The scoring graders' weights must have a positive sum."))
    return errors


def plain_model(model: ModelSpec | str | UnsetType | None) -> Any:
    """Return the model as it is stored and shown: an object, a name or null; unset stays unset."""
    return msgspec.to_builtins(model) if isinstance(model, ModelSpec) else model


def model_name(model: Any) -> str:
    """Return the model's name, by which the list filters; '' without a model."""
    return model["name"] if isinstance(model, dict) else model or ""
