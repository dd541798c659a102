"""One row of four is damaged: every job continues with the others, and the log names the damaged row once."""

import pytest
from celery import current_app
from django.db import connection
from django.utils import timezone

from autotune.core.models import DamagedValue
from autotune.webhooks.models import Event, Webhook
from exports.models import Export
from graders.models import Grader
from scores.engine import drains
from scores.models import Erasure, WorkflowRun
from tasks.models import Task
from tests.factories import CompletionFactory, OrganizationFactory, RunFactory
from tests.site.test_damage_everywhere import NOTED, errors
from tests.support.damaging import columns, damage_row, filled_world, of_kind, restart

WORLDS = 4
OURS = ("core.", "access.", "webhooks.", "graders.", "tasks.", "scores.", "exports.")
FIRST = ("exports.run", "tasks.fill_digests", "webhooks.deliver", "scores.sweep")  # before jobs that erase texts
USED = {"graders.GraderSecret.secret": {"current": True}}  # a row that the jobs read
pytestmark = pytest.mark.django_db


def jobs():
    """Every job that beat sends; those that read come before those that erase."""
    current_app.loader.import_default_modules()
    entries = {entry["task"] for entry in current_app.conf.beat_schedule.values()}
    assert all(name.startswith(OURS) for name in entries)
    return sorted(entries, key=lambda name: (name not in FIRST, name))


@pytest.fixture
def worlds():
    """Four organizations with a value in every column, a run that is due and an event that is not delivered yet."""
    owners = []
    for _ in range(WORLDS):
        me = filled_world(OrganizationFactory(), "organization_admin")
        RunFactory(completion=CompletionFactory(task=of_kind(me, Task, "task")))
        owners.append(me)
    Event.objects.update(fanned_out_at=timezone.now())
    for hook in Webhook.objects.all():
        Event.objects.create(
            organization=hook.organization, kind="grader.status_changed", data={"graderId": "grader_x"}
        )
    return owners


@pytest.fixture(autouse=True)
def _kept_connection(monkeypatch):
    """Drains and exports close their connection, but here it holds the test's transaction."""
    monkeypatch.setattr(connection, "close", lambda: None)


@pytest.mark.parametrize("column", sorted(columns()))
def test_c30_every_job_continues_with_the_other_rows(worlds, column, caplog):
    field = columns()[column]
    rows = field.model._base_manager.exclude(**{f"{field.name}__isnull": True})
    row = rows.filter(**USED.get(column, {})).order_by("pk").last()
    damage_row(row, field.name)
    restart()
    for name in jobs():
        current_app.tasks[name].run()
    for grader in Grader.objects.all():
        drains.drain(grader.pk)
    assert errors(caplog) == []
    assert not WorkflowRun.objects.filter(status__in=("pending", "running")).exists()
    statuses = sorted(Export.objects.values_list("status", flat=True))  # withdrawn: their texts were erased later
    # An export whose files have no key fails; one of a damaged task version lacks its rows, so nothing was erased.
    first = {"exports.Export.file_key": "failed", "tasks.TaskVersion.content": "completed"}.get(column, "withdrawn")
    assert statuses == [first] + ["withdrawn"] * (WORLDS - 1)
    assert set(Erasure.objects.values_list("status", flat=True)) == {"completed"}
    reports = [record for record in caplog.records if record.name == NOTED]
    assert len(reports) <= 1
    assert DamagedValue.objects.count() == len(reports)
