"""URL patterns of the grader API, below `/api/v1/`."""

from django.urls import URLPattern, path

from graders import api

urlpatterns: list[URLPattern] = [
    path("graders", api.GradersView.as_view()),
    path("graders/<grader:grader_id>", api.GraderDetailView.as_view()),
    path("graders/<grader:grader_id>/verify", api.GraderVerifyView.as_view()),
    path("graders/<grader:grader_id>/rotate-secret", api.GraderRotateSecretView.as_view()),
    path("graders/<grader:grader_id>/stats", api.GraderStatsView.as_view()),
    path("graders/<grader:grader_id>/health", api.GraderHealthView.as_view()),
    path("graders/<grader:grader_id>/versions", api.GraderVersionsView.as_view()),
]
