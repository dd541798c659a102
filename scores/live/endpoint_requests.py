"""Request bodies and query parameters of reward endpoints."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from scores.intake.requests import ModelId, TaskId

MAX_DEADLINE_MS: Final = 600_000

ProtocolName = Literal["openrlhf", "slime", "verify", "foundry"]
UnscoredName = Literal["hold", "neutral", "error"]
WithoutTextName = Literal["unscored", "empty", "strict"]
NeutralValue = Annotated[float, Meta(ge=0, le=1)]
DeadlineMs = Annotated[int, Meta(ge=1, le=MAX_DEADLINE_MS)]


class NewRewardEndpoint(BodyStruct):
    """`neutralValue` replaces a missing score; `neutral` requires it. `deadlineMs` limits one call; by default it is
    below the client's own timeout. `modelId` is the model of the completions that the endpoint receives.
    `withoutText` applies to answers that hold no text, such as those that only call tools: `unscored` leaves them
    unscored, `empty` judges them as an empty text, `strict` leaves them and blank text unscored."""

    task_id: TaskId
    protocol: ProtocolName
    unscored: UnscoredName
    neutral_value: NeutralValue | None = None
    deadline_ms: DeadlineMs | None = None
    model_id: ModelId | None = None
    without_text: WithoutTextName = "unscored"


class RewardEndpointPatch(BodyStruct):
    """`enabled: false` rejects calls until it is true again. `deadlineMs: null` restores the protocol's default."""

    unscored: UnscoredName | UnsetType = UNSET
    neutral_value: NeutralValue | UnsetType | None = UNSET
    deadline_ms: DeadlineMs | UnsetType | None = UNSET
    model_id: ModelId | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET
    without_text: WithoutTextName | UnsetType = UNSET


class RewardEndpointQuery(PageQuery):
    task_id: TaskId | None = None
    protocol: ProtocolName | None = None


class CallQuery(QueryStruct):
    """`rewardKey` is slime's `--reward-key`: the answer is an object, and this member holds the reward."""

    reward_key: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[A-Za-z0-9_]+$")] | None = None
