"""Admin page of the callers that the database throttles, which it does while Redis is unavailable or not used."""

from django.contrib import admin

from autotune.access.models import Throttle
from autotune.core.admin.base import ReadOnlyMixin
from autotune.core.admin.cells import moment
from autotune.core.admin.lists import CappedPaginator


@admin.register(Throttle)
class ThrottleAdmin(ReadOnlyMixin, admin.ModelAdmin):
    list_display = ("subject", moment("arrives_at", "free again"))
    list_filter = ("arrives_at",)
    search_fields = ("^subject",)
    search_help_text = "How a subject begins, such as key: or address:"
    paginator = CappedPaginator
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    ordering = ("-arrives_at",)
    fields = ("subject", "arrives_at")
