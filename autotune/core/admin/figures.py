"""The figures on the administration's first page. Each app adds its own; people see those of lists they may open."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model, QuerySet
from django.urls import reverse

MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class AdminFigure:
    """A count that an operator should check first.

    rows     the rows to count, up to MOST
    filters  the query string of the list that shows them
    tone     the colour of a count above zero
    """

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    filters: str
    tone: str


@dataclass(frozen=True, slots=True)
class FigureView:
    label: str
    text: str
    url: str
    tone: str


_FIGURES: Final[dict[str, AdminFigure]] = {}


def register(
    label: str, model: type[Model], rows: Callable[[], QuerySet[Any]], filters: str, *, tone: str = "warn"
) -> None:
    """Add a figure to the first page."""
    _FIGURES[label] = AdminFigure(label, model, rows, filters, tone)


def shown_to(user: Any) -> list[FigureView]:
    """Return the figures that a person may see. Each takes one query, which counts up to MOST rows."""
    return [_counted(figure) for figure in _FIGURES.values() if _may(user, figure)]


def _counted(figure: AdminFigure) -> FigureView:
    count = figure.rows().order_by().values("pk")[: MOST + 1].count()
    meta = figure.model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    text = f"{MOST:,}+" if count > MOST else f"{count:,}"
    return FigureView(figure.label, text, f"{url}?{figure.filters}", figure.tone if count else "calm")


def _may(user: Any, figure: AdminFigure) -> bool:
    meta = figure.model._meta
    may: Any = user.has_perm
    return bool(may(f"{meta.app_label}.view_{meta.model_name}") or may(f"{meta.app_label}.change_{meta.model_name}"))
