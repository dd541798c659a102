"""Routes of the pages of workflow runs."""

from django.urls import URLPattern, path

from scores.pages import run_detail, run_letters, run_list

urlpatterns: list[URLPattern] = [
    path("runs", run_list.runs_page, name="runs"),
    path("runs/failed", run_letters.letters, name="runs_failed"),
    path("runs/retry", run_letters.retry, name="runs_retry"),
    path("runs/<run:run_id>", run_detail.run, name="run"),
    path("runs/<run:run_id>/retry", run_detail.retry, name="run_retry"),
    path("runs/<run:run_id>/cancel", run_detail.cancel, name="run_cancel"),
]
