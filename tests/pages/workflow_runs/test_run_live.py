"""The list of runs refreshes in place, on a phone too."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from scores.models import WorkflowRun
from tests.factories import GraderFactory, RunFactory, TaskFactory
from tests.support.browsing import PHONE, too_wide
from tests.support.concurrency import aside

pytestmark = pytest.mark.pages


@pytest.fixture
def world(visitor):
    client = visitor("training_operator")
    grader = GraderFactory(organization=client.organization, created_by=client.user, name="Judge one")
    client.task = TaskFactory(organization=client.organization, name="Sums " + "x" * 180, graders=[grader])
    return client


def test_the_board_refreshes_and_keeps_the_focus(world, browse):
    run = RunFactory(completion__task=world.task)
    page = browse(world, "/workflow-runs")
    link = page.locator(f'a[href="/workflow-runs/{run.public_id}"]')
    link.focus()
    failed = {"status": "failed", "error_code": "timeout", "completed_at": timezone.now()}
    aside(lambda: WorkflowRun.objects.filter(pk=run.pk).update(**failed)).result(10)
    page.evaluate("htmx.trigger('#board', 'refresh')")
    expect(page.locator("#board tbody .badge.bad")).to_be_visible()
    expect(link).to_be_focused()
    assert page.console_errors == []


def test_the_pages_fit_a_phone(world, browse):
    run = RunFactory(completion__task=world.task, status="failed", error_code="timeout", completed_at=timezone.now())
    page = browse(world, "/workflow-runs", viewport=PHONE)
    for path in (
        "/workflow-runs",
        "/workflow-runs/failed",
        "/workflow-runs/retry?code=timeout",
        f"/workflow-runs/{run.public_id}",
    ):
        page.goto(path)
        assert too_wide(page) <= 0, path
