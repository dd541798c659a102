"""The first page after the login: what needs the person now, and how things go, by their role."""

from django.http import HttpResponse
from django.shortcuts import render

from autotune.access.frame.entry import PageRequest, page


@page()
def overview(request: PageRequest) -> HttpResponse:
    """What needs me, throughput, latency and scores."""
    return render(request, "site/overview.html", {"title": "Overview"})
