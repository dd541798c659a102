"""Cells of admin lists and forms: states as badges, and links to rows, lists and the product's pages."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from autotune.core.pages import badges, formats

Cell = Any  # a function of a row; the type stubs accept only column names
NOTHING = "–"
TONES = {
    "parked": "bad", "inactive": "neutral", "suspended": "bad", "rejected": "bad", "approved": "good",
    "unreachable": "bad", "interrupted": "bad", "platform": "bad", "pending": "busy", "open": "warn", "passed": "good",
    "stale": "bad",
}  # fmt: skip
"""States that the pages show in another colour, or for which they have none."""


def badge(name: Any, text: str = "") -> SafeString:
    """Return a state as a coloured word, or a dash if there is none."""
    if name in (None, ""):
        return format_html("{}", NOTHING)
    word = str(name)
    return format_html(
        '<span class="badge {}">{}</span>', TONES.get(word) or badges.tone(word), text or formats.words(word)
    )


def change_url(row: Model) -> str:
    """Return the address of a row's page in the administration; '' if it has none."""
    try:
        return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return ""


def link(row: Model | None, text: str = "", *, length: int = 60) -> SafeString:
    """Return a link to a row's page in the administration."""
    if row is None:
        return format_html("{}", NOTHING)
    return anchor(change_url(row), formats.brief(text or row, length))


def anchor(url: str, text: str) -> SafeString:
    """Return a link, or only its text if there is no address."""
    if not url:
        return format_html("<bdi>{}</bdi>", text)
    return format_html('<a href="{}"><bdi>{}</bdi></a>', url, text)


def shortened(url: str, public_id: str) -> SafeString:
    """Return a link that shows the kind and the end of a public id; its tooltip shows the whole id."""
    kind, _, rest = public_id.rpartition("_")
    return format_html('<a href="{}" title="{}">{}_…{}</a>', url, public_id, kind, rest[-6:])


def list_url(model: type[Model], **filters: str) -> str:
    """Return the address of a filtered list in the administration."""
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def page_url(name: str, pk: Any) -> str | None:
    """Return the address of the product's own page about a row, or None if there is none."""
    try:
        return reverse(name, args=[pk])
    except NoReverseMatch:
        return None


def linked(name: str, description: str = "", *, order: str = "") -> Cell:
    """Make a column (or a form's line) that links to the row in `name`. Load that row with `list_select_related`."""

    def cell(row: Any) -> SafeString:
        for part in name.split("__"):
            row = getattr(row, part, None)
        return link(row, length=36)

    return _display(cell, name, description or formats.words(name.rpartition("__")[2]), order)


def state(name: str = "status", description: str = "", *, order: str | None = None) -> Cell:
    """Make a column (or a form's line) that shows a state as a badge."""

    def cell(row: Any) -> SafeString:
        return badge(getattr(row, name))

    return _display(cell, f"{name}_badge", description or formats.words(name), name if order is None else order)


def flag(name: str, yes: str, no: str = "", description: str = "", *, tone: str = "warn") -> Cell:
    """Make a column that shows `yes` if the member is true, else `no` or a dash."""

    def cell(row: Any) -> SafeString:
        if getattr(row, name):
            return format_html('<span class="badge {}">{}</span>', tone, yes)
        return badge("neutral", no) if no else format_html("{}", NOTHING)

    return _display(cell, f"{name}_flag", description or formats.words(name), name)


def moment(name: str, description: str = "", *, order: str | None = None) -> Cell:
    """Make a column that shows `4 min ago`, with the exact time as a tooltip."""

    def cell(row: Any) -> SafeString:
        time: datetime | None = getattr(row, name)
        return badges.when(time, NOTHING)

    return _display(
        cell, f"{name}_ago", description or formats.words(name.removesuffix("_at")), name if order is None else order
    )


def figure(name: str, written: Callable[[Any], str], description: str = "") -> Cell:
    """Make a column that shows a number as the pages do. None is a dash, never a zero."""

    def cell(row: Any) -> str:
        return written(getattr(row, name))

    return _display(cell, f"{name}_figure", description or formats.words(name), name)


def _display(cell: Callable[[Any], Any], name: str, description: str, order: str) -> Cell:
    cell.__name__ = name
    return admin.display(description=description, ordering=order or None)(cell)
