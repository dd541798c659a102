"""Responses of the reward endpoint API."""

from autotune.core import ids
from autotune.core.api.operations import ApiStruct
from autotune.core.api.pagination import Pagination
from autotune.core.clock import wire
from scores.models import RewardEndpoint


class EndpointCounts(ApiStruct):
    """Numbers of samples so far, a few seconds behind: how many got a reward, and how many of these had no score.

    `withoutText` counts the samples that were not judged because they held no text, however the endpoint answered.
    """

    answered: int
    unscored: int
    without_text: int


class RewardEndpointOut(ApiStruct):
    id: str
    task_id: str
    protocol: str
    model_id: str
    unscored: str
    neutral_value: float | None
    without_text: str
    deadline_ms: int
    enabled: bool
    counts: EndpointCounts
    last_used_at: str | None
    created_by: str
    created_at: str
    updated_at: str


class RewardEndpointAnswer(ApiStruct):
    reward_endpoint: RewardEndpointOut


class RewardEndpointWithUrl(ApiStruct):
    """`url` contains the token and is shown only once: it is null in a repeated response."""

    reward_endpoint: RewardEndpointOut
    url: str | None


class RewardEndpointList(ApiStruct):
    reward_endpoints: list[RewardEndpointOut]
    pagination: Pagination


def endpoint_out(row: RewardEndpoint) -> RewardEndpointOut:
    return RewardEndpointOut(
        id=row.public_id,
        task_id=ids.encode("task", row.task_id),
        protocol=row.protocol,
        model_id=row.model_id,
        unscored=row.unscored,
        neutral_value=row.neutral_value,
        without_text=row.without_text,
        deadline_ms=row.deadline_ms,
        enabled=row.enabled,
        counts=EndpointCounts(row.answered, row.unscored_count, row.without_text_count),
        last_used_at=wire(row.last_used_at) if row.last_used_at else None,
        created_by=ids.encode("user", row.created_by_id),
        created_at=wire(row.created_at),
        updated_at=wire(row.updated_at),
    )
