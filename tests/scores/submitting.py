"""What the tests of submissions share: a request that is right, and the proof that nothing was stored."""

from scores.models import WorkflowRun
from tasks.models import Completion
from tests.factories import public

OTHER_TASK = "task_01jd0000000000000000000000"


def item(task, **members):
    """A submission that is right, with changes; a member set to `...` is left out."""
    whole = {
        "taskId": public("task", task),
        "modelId": "model-a",
        "prompt": "What is 2 + 2?",
        "response": "4",
        **members,
    }
    return {name: value for name, value in whole.items() if value is not ...}


def rows():
    """How many completions and runs there are."""
    return Completion.objects.count(), WorkflowRun.objects.count()


def problems(answer, status=400):
    """[(pointer, code)] of a refusal."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    return [(error["pointer"], error["code"]) for error in body.get("errors", [])]
