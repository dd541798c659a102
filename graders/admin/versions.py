"""Admin pages of the versions that graders reported."""

from django.contrib import admin

from autotune.core.admin.cells import linked, moment
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.admin.lists import CreatedWithin
from graders.admin.parts import GraderFilter, GraderPart
from graders.models import (
    GraderVersion,
)


class GraderVersionsInline(NewestRowsInline):
    model = GraderVersion
    verbose_name_plural = "newest versions"
    fields = ("public_id", "first_seen_at")


@admin.register(GraderVersion)
class GraderVersionAdmin(GraderPart):
    kind = "graderv"
    list_display = ("label", linked("grader"), "public_id", moment("first_seen_at", "first seen", order=""))
    list_filter = (GraderFilter, CreatedWithin)
    search_fields = ("label", "grader__name")
    search_help_text = "Part of a version or a grader's name, or an id (graderv_…, grader_… or org_…)"
    fields = ("public_id", "grader", "label", "digest", ("scale_min", "scale_max"), "first_seen_at")
