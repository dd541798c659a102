"""Request bodies of live rewards."""

from typing import Annotated, Any, Final

from msgspec import Meta

from autotune.core.api.operations import BodyStruct
from scores.intake.requests import ModelId, TaskId

MAX_DEADLINE_MS: Final = 300_000
DEFAULT_DEADLINE_MS: Final = 30_000


class RewardItem(BodyStruct):
    """A prompt or the messages before the response, the response, and the metadata that graders see."""

    response: str
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None
    metadata: dict[str, Any] | None = None


class NewRewards(BodyStruct):
    """1 to 1,000 items of one task.

    `deadlineMs` is how long the caller waits; scoring continues after it. `fresh` also scores items that were scored
    before.
    """

    task_id: TaskId
    items: Annotated[list[RewardItem], Meta(min_length=1, max_length=1_000)]
    model_id: ModelId | None = None
    deadline_ms: Annotated[int, Meta(ge=0, le=MAX_DEADLINE_MS)] = DEFAULT_DEADLINE_MS
    fresh: bool = False
