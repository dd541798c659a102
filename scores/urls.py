"""Routes of this app below `/api/v1/`. Operations that read scores are here, also those under other apps' addresses."""

from django.urls import URLPattern, path

from scores.callbacks import api
from scores.live import api as live_api
from scores.live import endpoint_api, protocol_api
from scores.results import completion_api, score_api, task_api
from scores.retention import api as retention_api
from scores.reviews import api as reviews_api
from scores.workflow_runs import api as workflow_runs_api

urlpatterns: list[URLPattern] = [
    path("tasks/<task:task_id>", task_api.TaskView.as_view()),
    path("callbacks/<str:token>", api.CallbackView.as_view()),
    path("completions", completion_api.CompletionsView.as_view()),
    path("completions/batch", completion_api.CompletionBatchView.as_view()),
    path("completions/<comp:completion_id>", completion_api.CompletionView.as_view()),
    path("completions/<comp:completion_id>/score", completion_api.CompletionScoreView.as_view()),
    path("completions/<comp:completion_id>/rescore", workflow_runs_api.CompletionRescoreView.as_view()),
    path("erasures", retention_api.ErasuresView.as_view()),
    path("erasures/<ers:erasure_id>", retention_api.ErasureView.as_view()),
    path("legal-holds", retention_api.LegalHoldsView.as_view()),
    path("legal-holds/<hold:hold_id>", retention_api.LegalHoldView.as_view()),
    path("reward-endpoints", endpoint_api.RewardEndpointsView.as_view()),
    path("reward-endpoints/<rwd:endpoint_id>", endpoint_api.RewardEndpointView.as_view()),
    path("reward-endpoints/<rwd:endpoint_id>/rotate", endpoint_api.RewardEndpointRotateView.as_view()),
    path("rewards", live_api.RewardsView.as_view()),
    path("rewards/<str:protocol>/<str:token>", protocol_api.ProtocolView.as_view()),
    path("reviews", reviews_api.ReviewsView.as_view()),
    path("reviews/<rev:review_id>", reviews_api.ReviewView.as_view()),
    path("reviews/<rev:review_id>/claim", reviews_api.ReviewClaimView.as_view()),
    path("reviews/<rev:review_id>/decision", reviews_api.ReviewDecisionView.as_view()),
    path("scores", score_api.ScoresView.as_view()),
    path("scores/summary", score_api.SummaryView.as_view()),
    path("scores/<score:score_id>", score_api.ScoreView.as_view()),
    path("workflow-runs", workflow_runs_api.WorkflowRunsView.as_view()),
    path("workflow-runs/retry", workflow_runs_api.WorkflowRunsRetryView.as_view()),
    path("workflow-runs/<run:run_id>", workflow_runs_api.WorkflowRunView.as_view()),
    path("workflow-runs/<run:run_id>/retry", workflow_runs_api.WorkflowRunRetryView.as_view()),
    path("workflow-runs/<run:run_id>/cancel", workflow_runs_api.WorkflowRunCancelView.as_view()),
]
