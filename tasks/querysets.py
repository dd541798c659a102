"""Querysets of tasks, task versions and completions."""

from typing import Self
from uuid import UUID

from django.db.models import Q

from autotune.access.policy import ScopedQuerySet


class TaskQuerySet(ScopedQuerySet):
    resource = "tasks"

    def with_panel(self) -> Self:
        """Fetch the current version, its panel and the task's creator too, in three queries for any number of rows."""
        return self.select_related("version").prefetch_related("version__members__grader")

    def search(self, text: str) -> Self:
        """Filter by a text in name or description; everything else is ciphertext."""
        return self.filter(Q(name__icontains=text) | Q(description__icontains=text))

    def judged_by(self, grader_id: UUID) -> Self:
        """Filter by a grader in the current panel."""
        return self.filter(version__members__grader_id=grader_id)


class TaskVersionQuerySet(ScopedQuerySet):
    resource = "tasks"
    owner_path = "task__created_by_id"


class CompletionQuerySet(ScopedQuerySet):
    resource = "completions"
