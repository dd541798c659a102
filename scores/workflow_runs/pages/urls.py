"""Routes of the pages of workflow runs."""

from django.urls import URLPattern, path

from scores.workflow_runs.pages import dead_letters, run, runs

urlpatterns: list[URLPattern] = [
    path("runs", runs.runs_page, name="runs"),
    path("runs/failed", dead_letters.letters, name="runs_failed"),
    path("runs/retry", dead_letters.retry, name="runs_retry"),
    path("runs/<run:run_id>", run.run, name="run"),
    path("runs/<run:run_id>/retry", run.retry, name="run_retry"),
    path("runs/<run:run_id>/cancel", run.cancel, name="run_cancel"),
]
