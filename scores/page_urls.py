"""Pages of scores; each kind of page has its routes beside it."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("scores.pages.completion_urls")),
    path("", include("scores.pages.run_urls")),
    path("", include("scores.pages.review_urls")),
    path("", include("scores.pages.task_urls")),
    path("", include("scores.pages.reward_endpoint_urls")),
    path("settings/retention", include("scores.pages.retention_urls")),
]
