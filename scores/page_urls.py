"""Routes of the pages of scores; each kind of page has its own module of routes."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("scores.results.pages.completion_urls")),
    path("", include("scores.workflow_runs.pages.urls")),
    path("", include("scores.reviews.pages.urls")),
    path("", include("scores.results.pages.task_urls")),
    path("", include("scores.live.pages.urls")),
    path("settings/retention", include("scores.retention.pages.urls")),
]
