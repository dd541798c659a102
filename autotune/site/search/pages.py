"""The search of every page: an id leads to its object, a word to what has it in its name."""

from typing import Final

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access.frame.entry import PageRequest, page
from autotune.site.search import results as search_results

MAX_TEXT: Final = 200


@page()
def results(request: PageRequest) -> HttpResponse:
    """Show what the search finds; htmx takes only its list."""
    text = request.GET.get("q", "").replace("\0", "").strip()[:MAX_TEXT]
    matches = search_results.find(request.principal, text) if text else []
    return render(request, "site/search.html", {"title": "Search", "search_text": text, "found": matches})
