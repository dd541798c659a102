"""Acts on the rows that a person has selected in a list. Each row is checked, done and reported for itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from autotune.access.audit import current_call
from autotune.access.frame import acting, navigation
from autotune.access.frame.entry import PageRequest
from autotune.core import ids
from autotune.core.api import problems
from autotune.core.errors import AutotuneError, NotFound
from autotune.core.pages.listing import AT_MOST

FIELD: Final = "ids"


@dataclass(frozen=True, slots=True)
class BulkAct:
    """A button that acts on the selected rows. `page` is the name of its route."""

    label: str
    page: str


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """What an act did with a row: `detail` says why it was not done."""

    public_id: str
    pk: UUID | None
    done: bool
    detail: str


def selected(request: PageRequest) -> list[str]:
    """Return the ids of the selected rows in their order, each once, at most as many as a page has rows."""
    return list(dict.fromkeys(text[:100] for text in request.POST.getlist(FIELD)))[:AT_MOST]


def perform(
    request: PageRequest, kind: str, what: str, work: Callable[[UUID], object], *, done: str
) -> list[RowOutcome]:
    """Do the work for each selected row in a transaction of its own, and return what became of each.

    kind  of the ids, such as `run`
    what  the noun for a row, such as `workflow run`
    work  checks the person's rights on the row, and raises an AutotuneError if it cannot be done
    done  what the report says of a row for which it was done
    """
    outcomes = [_row(request, kind, what, text, work, done) for text in selected(request)]
    current_call.about("", objects_count=sum(outcome.done for outcome in outcomes))
    return outcomes


def report(request: PageRequest, outcomes: list[RowOutcome], *, title: str, rows: str, route: str) -> HttpResponseBase:
    """Return the page that reports each row; without any selected row, the list with a message.

    rows   the name of the list's route
    route  the name of the route of a row
    """
    if not outcomes:
        messages.warning(request, "Select at least one row first.")
        return redirect(rows)
    context = {
        "title": title,
        "crumbs": navigation.crumbs(("Back to the list", reverse(rows))),
        "outcomes": outcomes,
        "done": sum(outcome.done for outcome in outcomes),
        "rows": rows,
        "route": route,
    }
    return render(request, "access/frame/bulk.html", context)


def _row(
    request: PageRequest, kind: str, what: str, text: str, work: Callable[[UUID], object], done: str
) -> RowOutcome:
    try:
        pk = ids.decode(kind, text)
    except ValueError:
        return RowOutcome(text, None, False, f"This is not the id of a {what}.")
    try:
        with problems.converted():
            acting.do(request, lambda: work(pk))
    except NotFound:
        return RowOutcome(text, None, False, f"There is no such {what}. It may have been deleted.")
    except AutotuneError as error:
        return RowOutcome(text, pk, False, error.detail)
    return RowOutcome(text, pk, True, done)
