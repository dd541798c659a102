"""The columns of a list page, declared once: their heads, the order by them, and which of them a person sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from autotune.core.pages.listing import ListRequest

PARAMETER: Final = "columns"
PAGING: Final = ("offset", "cursor")  # a change of columns or filters starts at the first page


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column of a list.

    name        in the address and in the row's template
    sort        the sort field of the list's query; '' if the list cannot be sorted by this column
    descending  whether the first click on the head sorts in descending order
    number      whether its values are numbers, aligned at the end
    fixed       whether it is always visible, such as the column that links to the row's page
    default     whether it is visible until a person chooses columns
    """

    name: str
    label: str
    sort: str = ""
    descending: bool = False
    number: bool = False
    fixed: bool = False
    default: bool = True


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a visible column.

    order      `ascending` or `descending` if the list is sorted by this column, otherwise ''
    next_sort  the sort that a click selects; '' if the list cannot be sorted by it
    """

    label: str
    number: bool
    order: str = ""
    next_sort: str = ""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The layout of a list for one request.

    visible  names of the columns that the row's template renders
    options  (name, label, whether it is visible) of the columns that can be chosen
    kept     parameters that the form of the filters must keep, as pairs
    others   parameters that the form of the columns must keep, as pairs
    """

    heads: tuple[ColumnHead, ...]
    visible: frozenset[str]
    options: tuple[tuple[str, str, bool], ...]
    kept: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]


def layout(
    columns: Sequence[ListColumn],
    list_request: ListRequest[Any],
    chosen: Sequence[str],
    *,
    sort: str,
    sortable: frozenset[str] | None = None,
) -> TableLayout:
    """Return the layout of a list.

    chosen    the columns of the address; unknown ones become a fault of the request, and none means the default ones
    sort      the order that applies
    sortable  the sort fields that are available now; None is all
    """
    names = {column.name for column in columns}
    unknown = [name for name in chosen if name not in names]
    if unknown:
        choices = ", ".join(column.name for column in columns)
        list_request.faults[PARAMETER] = f"There is no column “{unknown[0][:40]}”. Choose from {choices}."
    chosen_names = names & set(chosen) or {column.name for column in columns if column.default}
    visible = [column for column in columns if column.fixed or column.name in chosen_names]
    values = list_request.form_values
    columns_chosen = tuple((PARAMETER, column.name) for column in visible if column.name in chosen)
    return TableLayout(
        heads=tuple(_head(column, sort, sortable) for column in visible),
        visible=frozenset(column.name for column in visible),
        options=tuple((column.name, column.label, column in visible) for column in columns if not column.fixed),
        kept=(*((name, values[name]) for name in ("sort", "limit") if name in values), *columns_chosen),
        others=tuple((name, text) for name, text in values.items() if name not in PAGING),
    )


def _head(column: ListColumn, sort: str, sortable: frozenset[str] | None) -> ColumnHead:
    if not column.sort or (sortable is not None and column.sort not in sortable):
        return ColumnHead(column.label, column.number)
    order = {column.sort: "ascending", f"-{column.sort}": "descending"}.get(sort, "")
    descends_next = order == "ascending" or (not order and column.descending)
    return ColumnHead(column.label, column.number, order, f"-{column.sort}" if descends_next else column.sort)
