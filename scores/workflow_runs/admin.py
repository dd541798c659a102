"""The admin page of failed attempts: which call of a run failed, and when. What the grader answered is not shown."""

from types import MappingProxyType

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.access.models import Organization
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import linked, moment
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from graders.models import Grader
from scores.admin.parts import CodeFilter
from scores.models import AttemptEvidence


class AttemptCodeFilter(CodeFilter):
    column = "code"


@admin.register(AttemptEvidence)
class AttemptEvidenceAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """A failed attempt; its evidence may quote what a grader answered, so only the run's page shows it."""

    finds = MappingProxyType({"run": "run_id", "grader": "grader_id", "org": "organization_id"})
    list_display = (
        "code", linked("run"), "attempt", linked("grader"), linked("organization"),
        moment("created_at", "failed", order=""),
    )  # fmt: skip
    list_filter = (AttemptCodeFilter, named(Organization, "org"), named(Grader, "grader"), CreatedWithin)
    search_fields = ("=code", "grader__name")
    search_help_text = "Exactly a code, a part of a grader's name, or an id (run_…, grader_… or org_…)"
    fields = ("run", "attempt", "code", "grader", "organization", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AttemptEvidence]:
        rows = super().get_queryset(request).select_related("run", "grader", "organization")
        return rows.defer("content", "run__steps", "run__error_message")
