"""Querysets of tasks, task versions and completions, and the rule for what readers leave out."""

from collections.abc import Collection
from typing import Final, Self
from uuid import UUID

from django.db.models import Q
from django.db.models.expressions import RawSQL

from autotune.access.policy import ScopedQuerySet
from tasks.states import LISTED_SOURCES, CompletionSource

# The condition of the partial indexes for readers. It is a positive list: a planner cannot prove `<>` from `IN`.
READER_ROWS: Final = Q(source__in=LISTED_SOURCES, held_out=False)


def from_sources(sources: Collection[str], path: str = "") -> Q:
    """The condition that rows are from one of the sources.

    It names all of LISTED_SOURCES if they include the sources, because a partial index serves only queries that imply
    its condition. The names are literals, because SQLite proves nothing about parameters.

    path  lookup of the row with the source, such as `completion__`
    """
    chosen = [source for source in CompletionSource.values if source in sources]
    if not set(chosen) <= set(LISTED_SOURCES):
        return _is_one_of(chosen, path)
    listed = _is_one_of(LISTED_SOURCES, path)
    return listed if set(chosen) == set(LISTED_SOURCES) else listed & _is_one_of(chosen, path)


def for_readers(sources: Collection[str] = LISTED_SOURCES, path: str = "") -> Q:
    """The condition that readers may use rows: from one of the sources, and not held out."""
    return from_sources(sources, path) & Q(**{f"{path}held_out": False})


def _is_one_of(sources: Collection[str], path: str) -> Q:
    literals = [RawSQL(f"'{source}'", ()) for source in sources]  # noqa: S611 - constants of ours
    return Q(**{f"{path}source": literals[0]}) if len(literals) == 1 else Q(**{f"{path}source__in": literals})


class SourcedQuerySet(ScopedQuerySet):
    """Rows with the source and the held-out mark of their completion."""

    resource = "completions"

    def for_readers(self, sources: Collection[str] = LISTED_SOURCES) -> Self:
        """The rows that readers may use: from one of the sources, and not held out."""
        return self.filter(for_readers(sources))


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


class CompletionQuerySet(SourcedQuerySet):
    def for_readers_of_rewards(self, sources: Collection[str] = LISTED_SOURCES) -> Self:
        """The completions with a reward that readers may use. Both tables have an index for readers."""
        rewarded = self.filter(for_readers(sources, "reward__"), reward__value__isnull=False)
        return rewarded.for_readers(sources)
