"""Build the addresses of pages, with their filters, as far as this installation has the pages."""

from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse


def to(page: str, filters: dict[str, str] | None = None, **parameters: Any) -> str:
    """Return the address of a page by the name of its route; '' if there is none."""
    try:
        url = reverse(page, kwargs=parameters or None)
    except NoReverseMatch:
        return ""
    return f"{url}?{urlencode(filters)}" if filters else url
