"""Drains against graders that misbehave, and short words for how they do and what must come of it."""

import time

from scores.models import Reward, Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.support.rawserver import raw_server, signature

TIMEOUT_MS = 400
SLACK_S = 0.5
MIB = 2**20


class Faces:
    """`faces(behave, batch=1, runs=1)`: a drain against the behaviour; [(status, code)] of the runs, in id order.

    Only completed runs have a score, whatever was answered. `seconds` and `requests` describe the last drain.
    """

    def __init__(self, drain):
        self.drain = drain

    def __call__(self, behave, *, batch=1, runs=1):
        with raw_server(behave) as server:
            grader = GraderFactory(
                endpoint=server.url, max_batch_size=batch, timeout_ms=TIMEOUT_MS, batch_timeout_ms=TIMEOUT_MS
            )
            task = TaskFactory(organization=grader.organization, graders=[grader])
            for _ in range(runs):
                RunFactory(completion=CompletionFactory(task=task))
            began = time.monotonic()
            self.drain(grader)
            self.seconds, self.requests = time.monotonic() - began, server.requests
        ends = list(WorkflowRun.objects.order_by("pk").values_list("status", "error_code"))
        earned = ends.count(("completed", ""))
        assert Score.objects.count() == Reward.objects.exclude(value=None).count() == earned
        return ends

    def again(self, url):
        """Drain the same run again, now against a grader at `url`."""
        run = WorkflowRun.objects.get()
        type(run.grader).objects.update(endpoint=url)
        WorkflowRun.objects.update(status="pending")
        self.drain(run.grader)
        run.refresh_from_db()
        return run


def retried(code):
    return [("sleeping", code)]


def failed(code):
    return [("failed", code)]


COMPLETED = [("completed", "")]


def signed(body, *, status="200 OK", headers=(), **more):
    """A behaviour that answers a body, or what a function makes of the request, with a valid signature."""

    def behave(connection, request):
        content = body(request) if callable(body) else body
        connection.answer(content, status=status, headers=[*headers, *signature(request, content, **more)])

    return behave


def unsigned(body=b"{}", *, status="200 OK", headers=()):
    return lambda connection, request: connection.answer(body, status=status, headers=headers)


def score_text(text):
    """A body whose `score` is this text, which need not be JSON."""
    return lambda request: (
        b'{"requestId":"%b","score":%b}' % (request.id.encode(), text.encode("utf-8", "surrogatepass"))
    )
