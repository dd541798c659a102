"""The admin page of rewards: the reward of each completion, and the scores that it includes."""

from types import MappingProxyType

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core import ids
from autotune.core.admin.cells import badge, figure, linked, moment, page_url
from autotune.core.admin.lists import CreatedWithin
from autotune.core.pages import formats
from scores.admin.parts import FILTERS, CodeFilter, CompletionRecordMixin
from scores.models import Reward


class RewardCreatedWithin(CreatedWithin):
    column = "completion_id"
    title = "completion submitted within"


@admin.register(Reward)
class RewardAdmin(CompletionRecordMixin, admin.ModelAdmin):
    kind = "comp"
    finds = MappingProxyType({"task": "task_id", "org": "organization_id"})
    search_help_text = CompletionRecordMixin.search_help_text % "comp_…, task_… or org_…"
    related = ("organization", "task")
    list_display = (
        "completion_public_id", "reward", figure("confidence", formats.score), linked("task"), "aggregation", "used",
        "failed", moment("scored_at", "settled", order=""),
    )  # fmt: skip
    list_filter = (*FILTERS, CodeFilter, "aggregation", RewardCreatedWithin)
    list_select_related = related
    search_fields = ("=completion__external_id", "task__name", "=error_code")
    ordering = ("-completion_id",)
    fieldsets = (
        (None, {"fields": ("completion_link", "organization", "task", "scored_at")}),
        ("The number", {"fields": ("reward", "value", "confidence", "aggregation")}),
        ("What went into it", {"fields": (("used", "failed"), "error_code")}),
        ("Readers", {"fields": (("source", "held_out"),)}),
    )

    def get_view_on_site_url(self, obj: Reward | None = None) -> str | None:
        return None if obj is None else page_url("completion", obj.completion_id)

    @admin.display(description="completion")
    def completion_public_id(self, reward: Reward) -> str:
        return ids.encode("comp", reward.completion_id)

    @admin.display(description="reward")
    def reward(self, reward: Reward) -> SafeString:
        """Show the value, or a failure if there is none, never 0 instead."""
        if reward.value is None:
            return badge("failed", reward.error_code)
        return format_html("{}", formats.score(reward.value))
