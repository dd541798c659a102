"""Routes of this app below `/api/v1/`. What needs facts of scores is here, whatever its address."""

from django.urls import URLPattern, path

from scores import completion_api, score_api, task_api

urlpatterns: list[URLPattern] = [
    path("tasks/<task:task_id>", task_api.TaskView.as_view()),
    path("completions", completion_api.CompletionsView.as_view()),
    path("completions/batch", completion_api.CompletionBatchView.as_view()),
    path("completions/<comp:completion_id>", completion_api.CompletionView.as_view()),
    path("completions/<comp:completion_id>/score", completion_api.CompletionScoreView.as_view()),
    path("scores", score_api.ScoresView.as_view()),
    path("scores/summary", score_api.SummaryView.as_view()),
    path("scores/<score:score_id>", score_api.ScoreView.as_view()),
]
