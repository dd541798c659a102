"""Admin pages of the changes of graders' status."""

from django.contrib import admin

from autotune.core.admin.base import plain
from autotune.core.admin.cells import linked, moment, state
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.pages.formats import brief
from graders.admin.parts import GraderFilter, GraderPart
from graders.models import (
    GraderStatusChange,
)


class StatusChangesInline(NewestRowsInline):
    model = GraderStatusChange
    verbose_name_plural = "newest status changes"
    fields = (state("current", "to"), "reason_brief", "at")
    related = ("grader",)

    @admin.display(description="reason")
    def reason_brief(self, row: GraderStatusChange) -> str:
        return brief(plain(row, "reason"), 160)


@admin.register(GraderStatusChange)
class GraderStatusChangeAdmin(GraderPart):
    list_display = (
        "__str__",
        linked("grader"),
        state("previous", "from", order=""),
        state("current", "to", order=""),
        moment("at", "when", order=""),
    )
    list_filter = ("current", "previous", GraderFilter, "at")
    fields = ("grader", state("previous", "from"), state("current", "to"), "reason_text", "at")

    @admin.display(description="reason")
    def reason_text(self, row: GraderStatusChange) -> str:
        return plain(row, "reason")
