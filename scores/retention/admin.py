"""Admin pages of erasures and legal holds. Releasing a hold works as in the API."""

from types import MappingProxyType
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.admin.actions import confirmed, each
from autotune.core.admin.base import PublicIdSearchMixin, ReadOnlyMixin, SuperuserTextMixin, plain
from autotune.core.admin.cells import anchor, badge, change_url, linked, moment, state
from autotune.core.admin.lists import named
from autotune.core.errors import Conflict
from scores.models import Erasure, LegalHold
from scores.retention import legal_holds
from tasks.models import Completion, Task

OrganizationFilter = named(Organization, "org")
ABOUT = {"comp": "completion_id", "task": "task_id", "org": "organization_id"}


class SubjectRowMixin(PublicIdSearchMixin, ReadOnlyMixin):
    """Mixin for rows about a completion, a task, a model or an organization, which may no longer exist."""

    finds = MappingProxyType(ABOUT)
    search_help_text: ClassVar[Any] = (
        "A part of an organization's name, exactly a model, or an id (its own, comp_…, task_… or org_…)"
    )
    date_hierarchy: ClassVar[Any] = "created_at"
    show_full_result_count = False
    ordering: ClassVar[Any] = ("-id",)

    @admin.display(description="about")
    def about(self, row: Any) -> SafeString:
        """Link by id without a query; the linked page reports an object that no longer exists."""
        for kind, model, pk in (("comp", Completion, row.completion_id), ("task", Task, row.task_id)):
            if pk is not None:
                named_row: Model = model(pk=pk)
                return anchor(change_url(named_row), ids.encode(kind, pk))
        return format_html("<bdi>{}</bdi>", f"model {row.model_id}" if row.model_id else "the whole organization")


@admin.register(Erasure)
class ErasureAdmin(SubjectRowMixin, admin.ModelAdmin):
    kind = "ers"
    list_display = (
        "public_id", state(), linked("organization", order="organization__name"), "about", "erased", "kept",
        linked("created_by", "requested by"), moment("created_at", "requested"), moment("completed_at", "completed"),
    )  # fmt: skip
    list_filter = ("status", OrganizationFilter, "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "=model_id")
    fieldsets = (
        (None, {"fields": ("public_id", state(), "organization", "about")}),
        ("Progress", {"fields": ("cursor", ("erased", "held"))}),
        ("Times", {"fields": ("created_by", "created_at", "completed_at")}),
    )
    readonly_fields = ("public_id", "about")

    @admin.display(description="held", ordering="held")
    def kept(self, erasure: Erasure) -> SafeString:
        return badge("held", f"{erasure.held:,} by a legal hold") if erasure.held else badge("")


@admin.action(description="Release the selected holds", permissions=["release"])
@confirmed(
    "Release these legal holds?",
    warning="From now on retention and erasures can delete what they kept, and what is erased is gone for good.",
    button="Release the holds",
)
def release(model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[LegalHold]) -> None:
    def let_go(hold: LegalHold) -> None:
        if hold.released_at is not None:
            raise Conflict("It was released before.", code="released")
        legal_holds.release(hold.pk, request.user)  # type: ignore[arg-type]

    each(model_admin, request, queryset, let_go, "released")


@admin.register(LegalHold)
class LegalHoldAdmin(SubjectRowMixin, SuperuserTextMixin, admin.ModelAdmin):
    kind = "hold"
    actions = (release,)
    list_display = (
        "public_id", "current_state", linked("organization", order="organization__name"), "about",
        linked("created_by", "placed by"), moment("created_at", "placed"), moment("released_at", "released"),
    )  # fmt: skip
    list_filter = (("released_at", admin.EmptyFieldListFilter), OrganizationFilter, "created_at")
    list_select_related = ("organization", "created_by")
    search_fields = ("organization__name", "=model_id")
    groups = (
        (None, ("public_id", "current_state", "organization", "about")),
        ("Times", ("created_by", "created_at", "released_by", "released_at")),
    )
    texts = ("reason",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[LegalHold]:
        holds = super().get_queryset(request).select_related("organization", "created_by", "released_by")
        return holds.defer(*self.unread(request), "created_by__password", "released_by__password")

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("scores.change_legalhold")

    @admin.display(description="state", ordering="released_at")
    def current_state(self, hold: LegalHold) -> SafeString:
        return badge("released") if hold.released_at else badge("held", "in force")

    @admin.display(description="reason")
    def reason_text(self, hold: LegalHold) -> str:
        return plain(hold, "reason")
