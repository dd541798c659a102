"""The figures on the administration's first page. Each app tells its own; who may not look at a list is told none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Model, QuerySet
from django.urls import reverse

MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Figure:
    """What an operator looks at first.

    rows     what is counted, to a bound
    filters  of the list that shows them, as its address has it
    tone     of a number that is not zero
    """

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    filters: str
    tone: str


@dataclass(frozen=True, slots=True)
class Shown:
    label: str
    text: str
    url: str
    tone: str


_FIGURES: Final[dict[str, Figure]] = {}


def tell(
    label: str, model: type[Model], rows: Callable[[], QuerySet[Any]], filters: str, *, tone: str = "warn"
) -> None:
    """Put a figure on the first page."""
    _FIGURES[label] = Figure(label, model, rows, filters, tone)


def shown_to(user: Any) -> list[Shown]:
    """The figures that a person may see, each counted to a bound by one query."""
    return [_counted(figure) for figure in _FIGURES.values() if _may(user, figure)]


def _counted(figure: Figure) -> Shown:
    count = figure.rows().order_by().values("pk")[: MOST + 1].count()
    meta = figure.model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    text = f"{MOST:,}+" if count > MOST else f"{count:,}"
    return Shown(figure.label, text, f"{url}?{figure.filters}", figure.tone if count else "calm")


def _may(user: Any, figure: Figure) -> bool:
    meta = figure.model._meta
    may: Any = user.has_perm
    return bool(may(f"{meta.app_label}.view_{meta.model_name}") or may(f"{meta.app_label}.change_{meta.model_name}"))
