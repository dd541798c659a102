"""The admin page of throttling in the database: who is held back at present, where Redis does not know it."""

from django.contrib import admin

from autotune.access.models import Throttle
from autotune.core.admin import Record


@admin.register(Throttle)
class ThrottleAdmin(Record, admin.ModelAdmin):
    list_display = ("subject", "arrives_at")
    list_filter = ("arrives_at",)
    search_fields = ("^subject",)
    show_full_result_count = False
    ordering = ("-arrives_at",)
    fields = ("subject", "arrives_at")
