"""The admin page of periodic jobs, which shows whether each still finishes in time."""

from datetime import timedelta

from django.contrib import admin
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.core.admin.base import ReadOnlyMixin
from autotune.core.admin.cells import badge, moment
from scores.models import Pulse

STALE = timedelta(hours=26)  # the least frequent of the periodic jobs is daily


@admin.register(Pulse)
class PulseAdmin(ReadOnlyMixin, admin.ModelAdmin):
    """The admin page of the times at which periodic jobs last finished."""

    list_display = ("name", "beat", moment("at", "last finished"))
    list_filter = ("at",)
    search_fields = ("name",)
    search_help_text = "A part of the name of a job"
    show_full_result_count = False
    fields = ("name", "at")

    @admin.display(description="state", ordering="at")
    def beat(self, pulse: Pulse) -> SafeString:
        return badge("stale") if timezone.now() - pulse.at > STALE else badge("healthy", "alive")
