"""Retry the workflow runs that a person has selected in the list."""

from uuid import UUID

from django.http.response import HttpResponseBase

from autotune.access.frame import acting, bulk
from autotune.access.frame.entry import PageRequest, page
from autotune.access.views import find_for
from scores.models import WorkflowRun
from scores.workflow_runs import retrying


@page(("workflow_runs", "update"), methods=("POST",))
def retry(request: PageRequest) -> HttpResponseBase:
    """Retry the selected runs, and report what happened to each."""
    acting.concerns("workflow_runs", "update")

    def work(run_id: UUID) -> None:
        find_for(WorkflowRun.objects.all(), request.principal, run_id, "update", "workflow run")
        retrying.retry(run_id)

    outcomes = bulk.perform(request, "run", "workflow run", work, done="The run is due again.")
    return bulk.report(request, outcomes, title="Retry runs", rows="workflow_runs", route="workflow_run")
