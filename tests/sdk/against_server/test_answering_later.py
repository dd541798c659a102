"""A grader made with the kit answers later: 202, and a callback over HTTP to the server that asked."""

import threading

import pytest
from autotune_sdk.grader import CannotJudge
from autotune_sdk.grader import Grader as KitGrader
from autotune_sdk.grader.server import GraderServer
from django.test import override_settings

from autotune.core.outbound.addresses import parse_allow
from scores.models import Score, WorkflowRun
from tests.factories import SECRET, CompletionFactory, GraderFactory, RunFactory, TaskFactory


@pytest.fixture
def kept():
    return []


@pytest.fixture
def kit(live_server, kept):
    """The kit's grader, served; the server's address is that of the live server."""
    kit_grader = KitGrader("slow", "1.0.0", secret=SECRET)
    kit_grader.later(kept.append)
    with GraderServer(kit_grader, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        allowed = parse_allow(f"127.0.0.1/32:{server.server_address[1]}")
        with override_settings(AUTOTUNE_OUTBOUND_ALLOW_GRADERS=allowed, PUBLIC_URL=live_server.url):
            kit_grader.url = server.url
            yield kit_grader
        server.shutdown()


def runs_of(kit, *, batch, count):
    grader = GraderFactory(endpoint=kit.url, max_batch_size=batch, supports_async=True)
    task = TaskFactory(organization=grader.organization, graders=[grader])
    return [RunFactory(completion=CompletionFactory(task=task)) for _ in range(count)]


def statuses():
    return sorted(WorkflowRun.objects.values_list("status", flat=True))


def test_a_single_completion(kit, kept, score):
    runs_of(kit, batch=1, count=1)
    score()
    assert statuses() == ["waiting"]
    (work,) = kept
    assert kit.call_back(work, 0.25) == "recorded"
    assert kit.call_back(work, 0.25) == "already_recorded"
    assert kit.call_back(work, 0.5) == "result_conflict"
    assert (statuses(), Score.objects.get().value) == (["completed"], 0.25)


def test_a_batch_in_parts(kit, kept, score):
    runs_of(kit, batch=10, count=3)
    score()
    (work,) = kept
    first, second, third = (completion.id for completion in work.completions)
    assert kit.call_back(work, {second: CannotJudge("no majority")}) == "recorded"
    assert statuses() == ["failed", "waiting", "waiting"]
    assert kit.call_back(work, {first: 1, third: 0}) == "recorded"
    assert statuses() == ["completed", "completed", "failed"]
    assert WorkflowRun.objects.get(status="failed").error_message == "no majority"
