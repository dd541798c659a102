"""Judge due runs by their responses, through the save that drains use."""

from graders.models import Grader
from scores.models import WorkflowRun
from tests.support.results import claim, judged, missed, save


def due():
    """The runs that a grader would be called for, oldest first."""
    return list(WorkflowRun.objects.filter(status="pending").order_by("pk").select_related("completion"))


def judge(values=None, *, graders=None, most=None, **verdict):
    """Score every due run by `values`, else 1.0 if its response starts with "good" and 0.0 if not. Returns how many."""
    runs = [run for run in due() if graders is None or run.grader_id in {grader.pk for grader in graders}][:most]
    for run in runs:
        grader = Grader.objects.get(pk=run.grader_id)
        response = run.completion.response
        value = (values or {}).get(response, float(response.startswith("good")))
        save(grader, good=[judged(claim(run), value, version_id=run.completion.task_version_id, **verdict)])
    return len(runs)


def fail(code="timeout"):
    """Fail every due run. Returns how many."""
    runs = due()
    for run in runs:
        save(Grader.objects.get(pk=run.grader_id), bad=[missed(claim(run), code)])
    return len(runs)
