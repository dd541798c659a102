"""Base classes and filters for the admin lists of runs, scores and rewards."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import anchor, change_url, shortened
from autotune.core.admin.lists import LargeTableMixin, named
from graders.models import Grader
from scores.results import failure_codes
from tasks.models import Completion, Task

FILTERS = (named(Organization, "org"), named(Task, "task"))


GraderFilter = named(Grader, "grader")


class CompletionRecordMixin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin):
    """Mixin: a record of a completion, with the names of its task and grader in one query."""

    finds: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"comp": "completion_id", "task": "task_id", "grader": "grader_id", "org": "organization_id"}
    )
    related: ClassVar[tuple[str, ...]] = ()
    search_help_text: ClassVar[Any] = (
        "A part of a task's or grader's name, exactly an external id or a code, or an id (%s)"
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        queryset = super().get_queryset(request).select_related(*self.related)  # type: ignore[misc]
        return queryset.defer("task__metadata")

    @admin.display(description="completion")
    def completion_short(self, row: Any) -> SafeString:
        return shortened(_completion_url(row), ids.encode("comp", row.completion_id))

    @admin.display(description="completion")
    def completion_link(self, row: Any) -> SafeString:
        return anchor(_completion_url(row), ids.encode("comp", row.completion_id))


class CodeFilter(admin.SimpleListFilter):
    """Filter by an error code. It offers all codes of the registry: finding those in use would read the whole table."""

    title = "error code"
    template = "scores/admin/filter_closed.html"
    parameter_name = "error_code"
    column = "error_code"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, code) for code in sorted(failure_codes.CODES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        code = self.value()
        return queryset if code is None else queryset.filter(**{self.column: code})


def _completion_url(row: Any) -> str:
    return change_url(Completion(pk=row.completion_id))
