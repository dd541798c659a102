"""Read-only tables on a row's admin page: the newest of the rows that belong to it."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.db.models import QuerySet
from django.forms.models import BaseInlineFormSet
from django.http import HttpRequest

from autotune.core.admin.base import ReadOnlyMixin

NEWEST: Final = 20


class NewestFormSet(BaseInlineFormSet):
    """The first NEWEST rows in the inline's order."""

    def get_queryset(self) -> QuerySet[Any]:
        if not hasattr(self, "_newest"):
            self._newest: QuerySet[Any] = super().get_queryset()[:NEWEST]
        return self._newest


class NewestRowsInline(ReadOnlyMixin, admin.TabularInline):
    """Base of a table of the newest rows, each with a link to its page. The same query loads `related`."""

    formset = NewestFormSet
    extra = max_num = 0
    can_delete = False
    show_change_link = True
    ordering: ClassVar[Any] = ("-id",)
    fields: ClassVar[Any] = ()
    related: ClassVar[tuple[str, ...]] = ()
    hidden: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return (rows.select_related(*self.related) if self.related else rows).defer(*self.hidden)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields


class InlinesMixin:
    """Mixin of an editable form: it shows the inlines, and leaves them out when it is submitted."""

    inlines: ClassVar[Any] = ()

    def get_inlines(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None or request.method == "POST" else self.inlines
