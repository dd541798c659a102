"""Admin pages of live rewards: reward endpoints, and the completions that equal items share."""

from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin.actions import confirmed, each
from autotune.core.admin.base import ProductPageMixin, PublicIdSearchMixin, ReadOnlyMixin
from autotune.core.admin.cells import anchor, badge, change_url, linked, moment
from autotune.core.admin.lists import CreatedWithin, LargeTableMixin, named
from scores.live import endpoints
from scores.live.endpoint_requests import RewardEndpointPatch
from scores.models import LiveAnswer, RewardEndpoint
from tasks.models import Completion, Task

OrganizationFilter = named(Organization, "org")


@admin.action(description="Switch the selected endpoints off", permissions=["switch"])
@confirmed(
    "Switch these reward endpoints off?",
    warning="Calls get 403 until the endpoints are switched on again. A training run in progress may stop.",
    button="Switch them off",
)
def switch_off(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[RewardEndpoint]) -> None:
    each(model_admin, request, queryset, lambda row: _switch(row, on=False), "switched off")


@admin.action(description="Switch the selected endpoints on", permissions=["switch"])
def switch_on(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[RewardEndpoint]) -> None:
    each(model_admin, request, queryset, lambda row: _switch(row, on=True), "switched on")


def _switch(row: RewardEndpoint, *, on: bool) -> None:
    endpoints.change(row.pk, RewardEndpointPatch(enabled=on))


@admin.register(RewardEndpoint)
class RewardEndpointAdmin(PublicIdSearchMixin, ProductPageMixin, ReadOnlyMixin, admin.ModelAdmin):
    """The reward endpoints. Their addresses are never shown: only the digest of each token is stored."""

    kind = "rwd"
    finds = MappingProxyType({"task": "task_id", "org": "organization_id", "user": "created_by_id"})
    page_name = "reward_endpoint"
    actions = (switch_off, switch_on)
    list_display = (
        "public_id", "current_state", linked("task", order="task__name"),
        linked("organization", order="organization__name"), "protocol", "unscored", "answered", "share_unscored",
        moment("last_used_at", "last used"),
    )  # fmt: skip
    list_filter = ("enabled", "protocol", "unscored", OrganizationFilter, named(Task, "task"), "created_at")
    list_select_related = ("organization", "task", "created_by")
    search_fields = ("organization__name", "task__name", "=model_id")
    search_help_text = "A part of an organization's or task's name, a full model name, or an id (rwd_…, task_…, org_…)"
    date_hierarchy = "created_at"
    show_full_result_count = False
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("public_id", "current_state", "organization", "task")}),
        (
            "How it answers",
            {"fields": ("protocol", "model_id", "unscored", "neutral_value", "without_text", "deadline_ms")},
        ),
        ("Use", {"fields": (("answered", "unscored_count", "without_text_count"), "share_unscored", "last_used_at")}),
        ("Times", {"fields": ("created_by", "created_at", "updated_at")}),
    )
    readonly_fields = ("public_id",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RewardEndpoint]:
        queryset = super().get_queryset(request).select_related("organization", "task", "created_by")
        return queryset.defer("token_digest", "task__metadata", "created_by__password")

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_rewardendpoint")

    @admin.display(description="state", ordering="enabled")
    def current_state(self, row: RewardEndpoint) -> SafeString:
        return badge("enabled", "on") if row.enabled else badge("disabled", "off")

    @admin.display(description="without a score", ordering="unscored_count")
    def share_unscored(self, row: RewardEndpoint) -> str:
        return f"{row.unscored_count:,}"


@admin.register(LiveAnswer)
class LiveAnswerAdmin(LargeTableMixin, PublicIdSearchMixin, ReadOnlyMixin, admin.ModelAdmin):
    finds = MappingProxyType(
        {"comp": "completion_id", "taskv": "task_version_id", "task": "task_version__task_id", "org": "organization_id"}
    )
    list_display = (
        "completion_public_id",
        linked("organization"),
        linked("task_version"),
        "model_id",
        moment("created_at", order=""),
    )
    list_filter = (OrganizationFilter, named(Task, "task", "task_version__task"), CreatedWithin)
    list_select_related = ("organization", "task_version")
    search_fields = ("organization__name",)
    search_help_text = "A part of an organization's name, or an id (comp_…, task_…, taskv_… or org_…)"
    fields = ("completion_link", "organization", "task_version", "model_id", "created_at")
    readonly_fields = ("completion_link",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LiveAnswer]:
        queryset = super().get_queryset(request).select_related("organization", "task_version")
        return queryset.defer("answer_digest", "task_version__content")

    @admin.display(description="completion")
    def completion_public_id(self, row: Any) -> str:
        return ids.encode("comp", row.completion_id)

    @admin.display(description="completion")
    def completion_link(self, row: Any) -> SafeString:
        return anchor(change_url(Completion(pk=row.completion_id)), self.completion_public_id(row))
