"""Base classes of all admin pages, and the admin pages of the core's own tables."""

import json
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.admin.cells import badge, moment, page_url
from autotune.core.crypto.encryption import Undecryptable
from autotune.core.models import DamagedValue, DataKey, MasterKey, Reencryption

TEXTS: Final = "Only superusers can see this text. The audit log records that you opened it."


class ReadOnlyMixin:
    """Mixin of read-only pages: nobody can add, change or delete these rows here."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PublicIdSearchMixin:
    """Mixin: searching for a public id finds its row, or the rows that name it.

    kind   the prefix of the model's own ids; '' if it has none
    finds  the columns that hold ids of other kinds, such as {"task": "task_id"}
    """

    kind = ""
    finds: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        columns = {**self.finds, **({self.kind: "pk"} if self.kind else {})}
        column = columns.get(term.rpartition("_")[0])
        if column is not None:
            with suppress(ValueError):
                return queryset.filter(**{column: ids.decode(term.rpartition("_")[0], term)}), False
        return super().get_search_results(request, queryset, search_term)  # type: ignore[misc]


class ProductPageMixin:
    """Mixin: the form has a link to the product's own page about the row. `page_name` is that page's route."""

    page_name = ""

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return None if obj is None else page_url(self.page_name, obj.pk)


class SuperuserTextMixin(ReadOnlyMixin):
    """Mixin: only the form decrypts the encrypted members (`texts`), and only for superusers."""

    texts: ClassVar[tuple[str, ...]] = ()
    groups: ClassVar[tuple[tuple[str | None, tuple[Any, ...]], ...]] = ()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        shown: list[Any] = [(title, {"fields": fields}) for title, fields in self.groups]
        if self.texts and request.user.is_superuser:
            fields = tuple(f"{name}_text" for name in self.texts)
            shown.append(("Texts", {"fields": fields, "description": TEXTS}))
        return shown

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return flatten_fieldsets(SuperuserTextMixin.get_fieldsets(self, request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    def unread(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the members that a page does not load: all of `texts`, except on a superuser's form."""
        match = request.resolver_match
        is_form = match is not None and (match.url_name or "").endswith("_change")
        return () if is_form and request.user.is_superuser else self.texts


def plain(instance: Any, name: str) -> str:
    """Return an encrypted member as text, for a form. Lists must not show it."""
    try:
        value = getattr(instance, name)
    except Undecryptable as exc:
        return f"(not readable: {exc})"
    if value is None or isinstance(value, str):
        return value or "–"
    return json.dumps(value, ensure_ascii=False, indent=2)


@admin.register(DataKey)
class DataKeyAdmin(ReadOnlyMixin, admin.ModelAdmin):
    """The data keys and the master keys that wrap them, without the wrapped bytes."""

    list_display = ("scope", "period", "wrapping_key", "use", moment("created_at"), moment("retired_at"))
    list_filter = ("wrapping_key", "created_at", ("retired_at", admin.EmptyFieldListFilter))
    search_fields = ("=scope", "period")
    search_help_text = "Enter a whole scope, or part of a period such as 2026-11"
    show_full_result_count = False
    ordering = ("-created_at",)
    fieldsets = (
        (None, {"fields": ("id", "scope", "period", "use")}),
        ("Wrapping", {"fields": ("wrapping_key", "created_at", "retired_at")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[DataKey]:
        return super().get_queryset(request).defer("wrapped")

    @admin.display(description="state", ordering="retired_at")
    def use(self, key: DataKey) -> str:
        return badge("retired") if key.retired_at else badge("active", "in use")


@admin.register(Reencryption)
class ReencryptionAdmin(ReadOnlyMixin, admin.ModelAdmin):
    """The progress of re-encryption in each encrypted column."""

    list_display = (
        "column", "state", "progress", "rewritten", "unreadable", moment("due_at", "next pass"), moment("finished_at"),
    )  # fmt: skip
    list_filter = (("finished_at", admin.EmptyFieldListFilter),)
    search_fields = ("column",)
    search_help_text = "Enter part of a column name"
    show_full_result_count = False
    ordering = ("column",)
    fieldsets = (
        (None, {"fields": ("column", "state", "number")}),
        ("Progress", {"fields": ("cursor", ("done", "total"), ("stale", "rewritten", "unreadable"))}),
        ("Times", {"fields": ("settled_at", "due_at", "started_at", "finished_at", "leased_until")}),
    )

    @admin.display(description="state", ordering="finished_at")
    def state(self, row: Reencryption) -> str:
        if row.unreadable:
            return badge("failed", "has unreadable rows")
        if row.finished_at:
            return badge("completed", "finished")
        return badge("running", "under way") if row.started_at else badge("waiting")

    @admin.display(description="rows done")
    def progress(self, row: Reencryption) -> str:
        return f"{row.done:,} of {row.total:,}" if row.total else f"{row.done:,}"


@admin.register(DamagedValue)
class DamagedValueAdmin(ReadOnlyMixin, admin.ModelAdmin):
    """Encrypted values that could not be decrypted. A repaired value leaves the list within an hour."""

    list_display = ("row", "table", "column", moment("seen_at", "first seen"))
    list_filter = ("table", "column")
    search_fields = ("=row",)
    search_help_text = "Enter a row's id, as the log shows it"
    show_full_result_count = False
    ordering = ("-seen_at",)
    fields = ("table", "column", "row", "seen_at")


@admin.register(MasterKey)
class MasterKeyAdmin(ReadOnlyMixin, admin.ModelAdmin):
    """The master keys that have wrapped data keys of this database, without their check values."""

    list_display = ("id", moment("created_at", "first used"))
    list_filter = ("created_at",)
    search_fields = ("id",)
    search_help_text = "Enter part of a master key's id"
    show_full_result_count = False
    ordering = ("id",)
    fields = ("id", "created_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[MasterKey]:
        return super().get_queryset(request).defer("check_value")
