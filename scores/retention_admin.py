"""Admin pages of erasures and legal holds. A hold is released here as the API does it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin import PublicIdSearch, Record, TextForSuperusers, plain
from scores import legal_holds
from scores.models import Erasure, LegalHold


class Concerning(PublicIdSearch, Record):
    """Mixin: a row about a completion, a task, a model or an organization; what it names may be gone."""

    @admin.display(description="about")
    def about(self, row: Any) -> str:
        if row.completion_id is not None:
            return ids.encode("comp", row.completion_id)
        if row.task_id is not None:
            return ids.encode("task", row.task_id)
        return f"model {row.model_id}" if row.model_id else "the whole organization"


@admin.register(Erasure)
class ErasureAdmin(Concerning, admin.ModelAdmin):
    kind = "ers"
    list_display = ("public_id", "organization", "about", "status", "erased", "held", "created_at", "completed_at")
    list_filter = ("status", "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "=model_id")
    show_full_result_count = False
    ordering = ("-id",)
    fields = (
        "public_id", "organization", "about", "status", "after", "erased", "held", "created_by", "created_at",
        "completed_at",
    )  # fmt: skip
    readonly_fields = ("public_id", "about")


@admin.action(description="Release the selected holds", permissions=["release"])
def release(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[LegalHold]) -> None:
    held = list(queryset.filter(released_at=None).values_list("pk", flat=True))
    for hold_id in held:
        legal_holds.release(hold_id, request.user)  # type: ignore[arg-type]
    model_admin.message_user(request, f"{len(held)} legal holds were released.")


@admin.register(LegalHold)
class LegalHoldAdmin(Concerning, TextForSuperusers, admin.ModelAdmin):
    kind = "hold"
    actions = (release,)
    list_display = ("public_id", "organization", "about", "created_by", "created_at", "released_at")
    list_filter = (("released_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "=model_id")
    show_full_result_count = False
    ordering = ("-id",)
    facts = (
        "public_id", "organization", "about", "created_by", "created_at", "released_by", "released_at",
    )  # fmt: skip
    texts = ("reason",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LegalHold]:
        return super().get_queryset(request).defer("reason")

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_legalhold")

    @admin.display(description="reason")
    def reason_text(self, hold: LegalHold) -> str:
        return plain(hold, "reason")
