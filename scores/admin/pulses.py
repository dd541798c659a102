"""Periodic works, and whether they still come to their end."""

from datetime import timedelta

from django.contrib import admin
from django.utils import timezone
from django.utils.safestring import SafeString

from autotune.core.admin.base import Record
from autotune.core.admin.cells import badge, moment
from scores.models import Pulse

STALE = timedelta(hours=26)  # the slowest of the periodic works is daily


@admin.register(Pulse)
class PulseAdmin(Record, admin.ModelAdmin):
    """When a periodic work last came to its end."""

    list_display = ("name", "beat", moment("at", "last ended"))
    list_filter = ("at",)
    search_fields = ("name",)
    search_help_text = "A part of a work's name"
    show_full_result_count = False
    fields = ("name", "at")

    @admin.display(description="state", ordering="at")
    def beat(self, pulse: Pulse) -> SafeString:
        return badge("stale") if timezone.now() - pulse.at > STALE else badge("healthy", "alive")
