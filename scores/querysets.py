"""The named questions about runs, scores and rewards."""

from typing import Self

from autotune.access.policy import ScopedQuerySet


class RunQuerySet(ScopedQuerySet):
    resource = "runs"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"


class ScoreQuerySet(ScopedQuerySet):
    """`own` is a score given by a grader that the caller made, whoever asked for it."""

    resource = "scores"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"

    def live(self) -> Self:
        """Not deleted: the rest are tombstones."""
        return self.filter(deleted_at=None)


class RewardQuerySet(ScopedQuerySet):
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
