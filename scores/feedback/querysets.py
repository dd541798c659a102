"""The queryset of feedback."""

from typing import Self

from autotune.access.policy import ScopedQuerySet


class FeedbackQuerySet(ScopedQuerySet):
    resource = "feedback"
    owner_path = "grader__created_by_id"
    owner_organization_path = "grader__organization_id"

    def current(self) -> Self:
        """The feedback that no newer feedback of the same rater replaces."""
        return self.filter(replaced_at=None)

    def labels(self) -> Self:
        """The current feedback with a value: a rejection has none, and is in no figure of agreement."""
        return self.current().filter(value__isnull=False)
