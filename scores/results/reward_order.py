"""Filter and sort completions by their rewards, within one task: the index of rewards begins with the task."""

from typing import Annotated, Final

from django.db.models import F
from msgspec import Meta

from autotune.access import policy
from autotune.access.principal import Principal
from autotune.core.api.pagination import SortOrder
from autotune.core.errors import Invalid
from scores.intake.requests import CompletionQuery
from tasks.querysets import CompletionQuerySet

ORDER: Final = SortOrder("completions", {"createdAt": "id", "reward": "reward_value"})
Bound = Annotated[float, Meta(ge=0, le=1)]


class RewardedCompletionQuery(CompletionQuery):
    """The filters of the list on the pages: those of the API, and bounds of the reward, which include their ends."""

    min_reward: Bound | None = None
    max_reward: Bound | None = None


def narrow(completions: CompletionQuerySet, query: RewardedCompletionQuery, principal: Principal) -> CompletionQuerySet:
    """Return the completions, if the query uses rewards only those with one that the principal may read.

    raises Invalid for a query without a task, and for bounds that cross
    """
    used = _parameter(query)
    if not used:
        return completions
    if query.task_id is None:
        raise Invalid.field(used, "missing_field", "Choose a task first: rewards are compared within one task.")
    low, high = query.min_reward, query.max_reward
    if low is not None and high is not None and low > high:
        raise Invalid.field("?maxReward", "out_of_range", f"It is below the lowest reward, {low:g}.")
    rewarded = policy.scope(completions, principal, "completions", "read")  # a shared completion's reward is private
    rewarded = rewarded.filter(reward__task_id=query.task_id.uuid, reward__value__isnull=False)
    if low is not None:
        rewarded = rewarded.filter(reward__value__gte=low)
    if high is not None:
        rewarded = rewarded.filter(reward__value__lte=high)
    return rewarded.annotate(reward_value=F("reward__value"))


def is_by_reward(query: RewardedCompletionQuery) -> bool:
    """Return whether the list is sorted by reward."""
    return query.sort is not None and query.sort.removeprefix("-") == "reward"


def _parameter(query: RewardedCompletionQuery) -> str:
    """Return the first parameter of the query that uses rewards; '' if none does."""
    if is_by_reward(query):
        return "?sort"
    if query.min_reward is not None:
        return "?minReward"
    return "" if query.max_reward is None else "?maxReward"
