"""Querysets of runs, scores, rewards, reviews, erasures, legal holds and reward endpoints."""

from typing import Any, Self

from autotune.access.policy import ScopedQuerySet
from scores.states import LONG_AGO, RunStatus
from tasks.querysets import SourcedQuerySet


class WorkflowRunQuerySet(ScopedQuerySet):
    resource = "workflow_runs"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"

    def next_pending(self, grader: Any) -> Self:
        """The next pending run of a grader, if there is one, in the order of claims; `grader` may be an OuterRef.

        Use it in a subquery instead of EXISTS. The order is that of the index of due runs. Without an order PostgreSQL
        reads the whole table if its statistics say that most runs are pending and this grader has none.
        """
        return self.filter(grader=grader, status=RunStatus.PENDING).order_by("-priority", "pk")[:1]

    def next_resting(self, grader: Any, status: RunStatus, **lookups: Any) -> Self:
        """The sleeping or waiting run of a grader that wakes first, if there is one."""
        resting = self.filter(grader=grader, status=status, wake_at__gt=LONG_AGO, **lookups)
        return resting.order_by("wake_at")[:1]


class ScoreQuerySet(SourcedQuerySet):
    """Scores. `own` covers the scores of graders that the caller created, for completions of all organizations."""

    resource = "scores"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"

    def live(self) -> Self:
        """The scores that are not deleted."""
        return self.filter(deleted_at=None)


class RewardQuerySet(SourcedQuerySet):
    resource = "exports"
    owner_path = "completion__created_by_id"


class ReviewQuerySet(ScopedQuerySet):
    resource = "reviews"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"


class ErasureQuerySet(ScopedQuerySet):
    resource = "retention"


class LegalHoldQuerySet(ScopedQuerySet):
    resource = "retention"

    def active(self) -> Self:
        """Not released."""
        return self.filter(released_at=None)


class RewardEndpointQuerySet(ScopedQuerySet):
    resource = "reward_endpoints"
