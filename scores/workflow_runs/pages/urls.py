"""Routes of the pages of workflow runs."""

from django.urls import URLPattern, path

from scores.workflow_runs.pages import bulk_retry, dead_letters, run, runs

urlpatterns: list[URLPattern] = [
    path("workflow-runs", runs.runs_page, name="workflow_runs"),
    path("workflow-runs/failed", dead_letters.letters, name="workflow_runs_failed"),
    path("workflow-runs/retry", dead_letters.retry, name="workflow_runs_retry"),
    path("workflow-runs/selected/retry", bulk_retry.retry, name="workflow_runs_retry_selected"),
    path("workflow-runs/<run:run_id>", run.run, name="workflow_run"),
    path("workflow-runs/<run:run_id>/retry", run.retry, name="workflow_run_retry"),
    path("workflow-runs/<run:run_id>/cancel", run.cancel, name="workflow_run_cancel"),
]
