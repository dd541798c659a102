"""The search box of every page: it finds an object by its id, or objects by a part of their name."""

from typing import Final

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access.frame.entry import PageRequest, page
from autotune.site.search import results as search_results

MAX_TEXT: Final = 200


@page()
def results(request: PageRequest) -> HttpResponse:
    """Show the results of a search; htmx uses only their list."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:MAX_TEXT]
    matches = search_results.find(request.principal, text) if text else []
    return render(request, "site/search/search.html", {"title": "Search", "search_text": text, "found": matches})
