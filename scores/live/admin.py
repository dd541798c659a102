"""Admin pages of live rewards: the endpoints, which can be switched off, and what stands for equal work."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record
from scores.models import LiveAnswer, RewardEndpoint


@admin.action(description="Switch the selected endpoints off", permissions=["switch"])
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[RewardEndpoint]) -> None:
    done = queryset.filter(enabled=True).update(enabled=False)
    model_admin.message_user(request, f"{done} reward endpoints were switched off.")


@admin.action(description="Switch the selected endpoints on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[RewardEndpoint]) -> None:
    done = queryset.filter(enabled=False).update(enabled=True)
    model_admin.message_user(request, f"{done} reward endpoints were switched on.")


@admin.register(RewardEndpoint)
class RewardEndpointAdmin(PublicIdSearch, Record, admin.ModelAdmin):
    """Their addresses are shown to nobody: only the digest of a token is stored."""

    kind = "rwd"
    actions = (switch_off, switch_on)
    list_display = (
        "public_id", "organization", "task", "protocol", "unscored", "enabled", "answered", "unscored_count",
        "last_used_at",
    )  # fmt: skip
    list_filter = ("protocol", "unscored", "enabled", "created_at")
    list_select_related = ("organization", "task", "created_by")
    search_fields = ("organization__name", "task__name", "=model_id")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "public_id", "organization", "task", "protocol", "model_id", "unscored", "neutral_value", "deadline_ms",
        "enabled", "answered", "unscored_count", "last_used_at", "created_by", "created_at", "updated_at",
    )  # fmt: skip
    readonly_fields = ("public_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RewardEndpoint]:
        return super().get_queryset(request).defer("token_digest", "task__metadata")

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_rewardendpoint")


@admin.register(LiveAnswer)
class LiveAnswerAdmin(Record, admin.ModelAdmin):
    list_display = ("completion_public_id", "organization", "task_version", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("organization", "task_version")
    search_fields = ("organization__name",)
    show_full_result_count = False
    ordering = ("-id",)
    fields = ("completion_public_id", "organization", "task_version", "created_at")
    readonly_fields = ("completion_public_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LiveAnswer]:
        return super().get_queryset(request).defer("answer_digest")

    @admin.display(description="completion")
    def completion_public_id(self, row: Any) -> str:
        return ids.encode("comp", row.completion_id)
