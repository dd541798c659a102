"""What every admin page of the house is made of, and the pages of the core's own tables."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from autotune.core import ids
from autotune.core.encryption import Undecryptable
from autotune.core.models import DataKey, Reencryption


class Record:
    """Mixin: shown, and neither added, changed nor deleted by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class PublicIdSearch:
    """Mixin: searching for a public id finds its row. `kind` is the id's prefix."""

    kind = ""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            return queryset.filter(pk=ids.decode(self.kind, search_term.strip())), False
        except ValueError:
            return super().get_search_results(request, queryset, search_term)  # type: ignore[misc]


class TextForSuperusers(Record):
    """Mixin: encrypted members (`texts`) are decrypted on the form alone, and for superusers alone."""

    texts: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.facts + (tuple(f"{name}_text" for name in self.texts) if request.user.is_superuser else ())

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.get_fields(request, obj)


def plain(instance: Any, name: str) -> str:
    """An encrypted member as text, for a form; never for a list."""
    try:
        value = getattr(instance, name)
    except Undecryptable as exc:
        return f"(not readable: {exc})"
    if value is None or isinstance(value, str):
        return value or "–"
    return json.dumps(value, ensure_ascii=False, indent=2)


@admin.register(DataKey)
class DataKeyAdmin(Record, admin.ModelAdmin):
    """Which data keys there are and what wraps them; not the wrapped keys."""

    list_display = ("scope", "period", "wrapping_key", "created_at", "retired_at")
    list_filter = ("wrapping_key", "created_at", ("retired_at", admin.EmptyFieldListFilter))
    search_fields = ("=scope", "period")
    show_full_result_count = False
    ordering = ("-created_at",)
    fields = ("id", "scope", "period", "wrapping_key", "created_at", "retired_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[DataKey]:
        return super().get_queryset(request).defer("wrapped")


@admin.register(Reencryption)
class ReencryptionAdmin(Record, admin.ModelAdmin):
    """How far each encrypted column is on its way off the retired data keys."""

    list_display = ("column", "number", "done", "total", "rewritten", "unreadable", "due_at", "finished_at")
    list_filter = (("finished_at", admin.EmptyFieldListFilter),)
    search_fields = ("column",)
    show_full_result_count = False
    ordering = ("column",)
    fields = (
        "column", "number", "cursor", ("done", "total"), ("found", "rewritten", "unreadable"),
        "settled_at", "due_at", "began_at", "finished_at", "leased_until",
    )  # fmt: skip
