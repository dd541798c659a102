"""Admin page of the state that workers share about calling a grader."""

from types import MappingProxyType

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin, plain
from autotune.core.admin.cells import linked, moment
from graders.models import (
    GraderGuard,
)


@admin.register(GraderGuard)
class GraderGuardAdmin(PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The state that workers share about calling a grader, while Redis does not hold it."""

    finds = MappingProxyType({"grader": "pk"})
    list_display = ("__str__", linked("grader", order="grader__name"), moment("changed_at"))
    list_filter = ("changed_at",)
    list_select_related = ("grader",)
    search_fields = ("grader__name",)
    search_help_text = "Part of a grader's name, or its id (grader_…)"
    show_full_result_count = False
    ordering = ("-changed_at",)
    fields = ("grader", "state_shown", "changed_at")

    @admin.display(description="state")
    def state_shown(self, row: GraderGuard) -> SafeString:
        return format_html("<pre>{}</pre>", plain(row, "state"))
