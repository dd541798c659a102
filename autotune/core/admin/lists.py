"""Admin lists of large tables, and filters that load no table: by a typed name or id, and by age."""

from datetime import timedelta
from typing import Any, ClassVar, Final
from uuid import UUID

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from autotune.core import ids

COUNTED: Final = 10_000
NAMED_AT_MOST: Final = 100
AGES: Final = {
    "hour": ("the last hour", timedelta(hours=1)),
    "day": ("the last 24 hours", timedelta(days=1)),
    "week": ("the last 7 days", timedelta(days=7)),
    "month": ("the last 30 days", timedelta(days=30)),
}


class CappedPaginator(Paginator):
    """Counts up to COUNTED rows. A person reaches later rows through filters."""

    @property
    def count(self) -> int:
        if not hasattr(self, "_counted"):
            rows: Any = self.object_list
            self._counted: int = rows.order_by().values("pk")[:COUNTED].count()
        return self._counted

    @property
    def is_capped(self) -> bool:
        return self.count >= COUNTED


class LargeTableMixin:
    """Mixin of large tables: newest first, sorted only by the index, never counted in full."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator: ClassVar[Any] = CappedPaginator
    list_per_page = 50
    sortable_by: ClassVar[Any] = ()
    ordering: ClassVar[Any] = ("-id",)


class _Named(admin.ListFilter):
    """Filters the rows of one organization, task or grader, by part of its name or by its public id."""

    template = "core/admin/filter_named.html"
    parameter_name = ""
    path = ""
    kind = ""
    of: type[Model]

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        raw_values = params.pop(self.parameter_name, None)
        value = raw_values[-1] if isinstance(raw_values, list) else raw_values
        self.search = (value or "").replace("\x00", "").strip()[:200]
        if self.search:
            self.used_parameters[self.parameter_name] = self.search

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def choices(self, changelist: Any) -> Any:
        """Yield one entry: the search text, the other parameters for the form, and the address without the search."""
        other_parameters = [(name, value) for name, value in changelist.params.items() if name != self.parameter_name]
        yield {
            "selected": bool(self.search),
            "query_string": changelist.get_query_string(remove=[self.parameter_name]),
            "display": self.search,
            "kept": other_parameters,
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{f"{self.path}__in": self._matching_ids()}) if self.search else queryset

    def _matching_ids(self) -> list[UUID]:
        """Look the ids up first, so that the index of the big table serves the query."""
        try:
            return [ids.decode(self.kind, self.search)]
        except ValueError:
            rows = self.of._base_manager.filter(name__icontains=self.search)
            return list(rows.values_list("pk", flat=True)[:NAMED_AT_MOST])


def named(of: type[Model], kind: str, path: str = "", title: str = "") -> type[admin.ListFilter]:
    """Make a filter by a row of another table. The person types its id, or part of its `name`.

    kind  the prefix of its public ids
    path  the column that refers to it; by default the model's name
    """
    name = of._meta.model_name or ""
    members = {
        "title": title or str(of._meta.verbose_name), "parameter_name": (path or name).replace("__", "_"), "of": of,
        "kind": kind, "path": path or name,
    }  # fmt: skip
    return type(f"{name.capitalize()}Filter", (_Named,), members)


class CreatedWithin(admin.SimpleListFilter):
    """Filters by age, which the primary key (UUIDv7) holds, so that it needs no index of its own."""

    title = "creation time"
    parameter_name = "made"
    column = "pk"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, text) for name, (text, _) in AGES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in AGES:
            return queryset
        _, span = AGES[str(self.value())]
        return queryset.filter(**{f"{self.column}__gte": ids.first_of(timezone.now() - span)})
