"""Base class of the admin lists of rows that belong to a grader."""

from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.lists import LargeTableMixin, named
from graders.models import (
    Grader,
)

GraderFilter = named(Grader, "grader")


class GraderPart(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """A list of rows that belong to a grader, newest first."""

    finds = MappingProxyType({"grader": "grader_id", "org": "grader__organization_id"})
    list_select_related = ("grader",)
    search_fields: ClassVar[tuple[str, ...]] = ("grader__name",)
    search_help_text = "Part of a grader's name, or an id (grader_… or org_…)"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("grader")
