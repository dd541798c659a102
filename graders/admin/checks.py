"""Admin pages of health checks and verification checks."""

from django.contrib import admin
from django.utils.safestring import SafeString

from autotune.core.admin.base import plain
from autotune.core.admin.cells import badge, figure, linked, moment
from autotune.core.admin.inlines import NewestRowsInline
from autotune.core.pages.formats import brief, duration
from graders.admin.parts import GraderFilter, GraderPart
from graders.models import (
    GraderCheck,
)


class ChecksInline(NewestRowsInline):
    model = GraderCheck
    verbose_name_plural = "newest checks"
    fields = ("result", "detail_brief", figure("latency_ms", duration, "latency"), "clock_skew_s", "at")
    related = ("grader",)

    @admin.display(description="result")
    def result(self, row: GraderCheck) -> SafeString:
        return _result(row)

    @admin.display(description="detail")
    def detail_brief(self, row: GraderCheck) -> str:
        return brief(plain(row, "detail"), 160)


@admin.register(GraderCheck)
class GraderCheckAdmin(GraderPart):
    list_display = ("name", "result", linked("grader"), "latency", "clock_skew_s", moment("at", "when", order=""))
    list_filter = ("passed", "name", GraderFilter, "at")
    fields = ("grader", "name", "result", "detail_text", "latency_ms", "clock_skew_s", "at")

    @admin.display(description="result")
    def result(self, row: GraderCheck) -> SafeString:
        return _result(row)

    @admin.display(description="latency")
    def latency(self, row: GraderCheck) -> str:
        return duration(row.latency_ms)

    @admin.display(description="detail")
    def detail_text(self, row: GraderCheck) -> str:
        return plain(row, "detail")


def _result(row: GraderCheck) -> SafeString:
    return badge("passed") if row.passed else badge("failed")
