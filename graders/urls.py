"""URL patterns of the grader API, below `/api/v1/`."""

from django.urls import URLPattern, path

from graders import api

urlpatterns: list[URLPattern] = [
    path("graders", api.Graders.as_view()),
    path("graders/<grader:grader_id>", api.GraderDetail.as_view()),
    path("graders/<grader:grader_id>/verify", api.GraderVerify.as_view()),
    path("graders/<grader:grader_id>/rotate-secret", api.GraderRotateSecret.as_view()),
    path("graders/<grader:grader_id>/stats", api.GraderStats.as_view()),
    path("graders/<grader:grader_id>/health", api.GraderHealth.as_view()),
    path("graders/<grader:grader_id>/versions", api.GraderVersions.as_view()),
]
