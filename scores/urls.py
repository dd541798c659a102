"""Routes of this app below `/api/v1/`. What needs facts of scores is here, whatever its address."""

from django.urls import URLPattern, path

from scores import callback_api, completion_api, retention_api, review_api, run_api, score_api, task_api
from scores.live import api as live_api
from scores.live import endpoints_api, protocol_api

urlpatterns: list[URLPattern] = [
    path("tasks/<task:task_id>", task_api.TaskView.as_view()),
    path("callbacks/<str:token>", callback_api.CallbackView.as_view()),
    path("completions", completion_api.CompletionsView.as_view()),
    path("completions/batch", completion_api.CompletionBatchView.as_view()),
    path("completions/<comp:completion_id>", completion_api.CompletionView.as_view()),
    path("completions/<comp:completion_id>/score", completion_api.CompletionScoreView.as_view()),
    path("completions/<comp:completion_id>/rescore", run_api.RescoreView.as_view()),
    path("erasures", retention_api.ErasuresView.as_view()),
    path("erasures/<ers:erasure_id>", retention_api.ErasureView.as_view()),
    path("legal-holds", retention_api.LegalHoldsView.as_view()),
    path("legal-holds/<hold:hold_id>", retention_api.LegalHoldView.as_view()),
    path("reward-endpoints", endpoints_api.RewardEndpointsView.as_view()),
    path("reward-endpoints/<rwd:endpoint_id>", endpoints_api.RewardEndpointView.as_view()),
    path("reward-endpoints/<rwd:endpoint_id>/rotate", endpoints_api.RewardEndpointRotateView.as_view()),
    path("rewards", live_api.RewardsView.as_view()),
    path("rewards/<str:protocol>/<str:token>", protocol_api.ProtocolView.as_view()),
    path("reviews", review_api.ReviewsView.as_view()),
    path("reviews/<rev:review_id>", review_api.ReviewView.as_view()),
    path("reviews/<rev:review_id>/claim", review_api.ReviewClaimView.as_view()),
    path("reviews/<rev:review_id>/decision", review_api.ReviewDecisionView.as_view()),
    path("scores", score_api.ScoresView.as_view()),
    path("scores/summary", score_api.SummaryView.as_view()),
    path("scores/<score:score_id>", score_api.ScoreView.as_view()),
    path("workflow-runs", run_api.RunsView.as_view()),
    path("workflow-runs/retry", run_api.RetryRunsView.as_view()),
    path("workflow-runs/<run:run_id>", run_api.RunView.as_view()),
    path("workflow-runs/<run:run_id>/retry", run_api.RetryRunView.as_view()),
    path("workflow-runs/<run:run_id>/cancel", run_api.CancelRunView.as_view()),
]
