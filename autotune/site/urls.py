"""Routes of the home page, the search, the probes, the metrics and the OpenAPI document."""

from django.urls import URLPattern, path

from autotune.site import api, pages
from autotune.site.search import pages as search_pages

urlpatterns: list[URLPattern] = [
    path("", pages.home, name="home"),
    path("search", search_pages.results, name="search"),
    path("api/v1/health", api.HealthView.as_view()),
    path("api/v1/ready", api.ReadyView.as_view()),
    path("api/v1/moving", api.MovingView.as_view()),
    path("api/v1/metrics", api.MetricsView.as_view()),
    path("api/v1/schema", api.SchemaView.as_view(), name="schema"),
    path("api/v1/docs", api.DocsView.as_view(), name="docs"),
]
