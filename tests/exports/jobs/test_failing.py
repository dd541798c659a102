"""Exports that fail: what is retried, what ends them, and the reason that they show."""

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from autotune.core import ids
from exports.models import Export
from exports.work import parts, running
from tasks.models import Completion
from tests.exports.jobs.conftest import claim, content_ids, lease_runs_out
from tests.factories import public
from tests.support.damaging import damage_rows

pytestmark = pytest.mark.django_db


def test_an_export_of_a_deleted_object_fails_with_the_reason(api, task, ask, run):
    export = ask(taskId=public("task", task))
    Export.objects.filter(pk=export.pk).update(query={"taskId": ids.encode("task", ids.new())})
    run(export)
    assert (export.status, export.error_code) == ("failed", "not_found")
    assert "taskId" in export.error_message
    assert not export.error_message.startswith("?")


def test_a_query_of_an_earlier_release_fails_with_its_reason(ask, run):
    export = ask()
    Export.objects.filter(pk=export.pk).update(query={"gone": 1})
    run(export)
    assert (export.status, export.error_code) == ("failed", "unknown_field")


def test_internal_errors_are_retried_and_then_reported(ask, run, scored, monkeypatch, caplog):
    scored(1)
    export = ask()

    def broken(*args):
        raise RuntimeError("a fault of ours, with a prompt in it")

    monkeypatch.setattr(parts, "make", broken)
    for failures in range(1, running.MOST_FAILURES):
        run(export)
        assert (export.status, export.failures) == ("pending", failures)
        assert export.leased_until > timezone.now()
        Export.objects.filter(pk=export.pk).update(leased_until=None)
    run(export)
    assert (export.status, export.error_code) == ("failed", "internal_error")
    assert "prompt" not in export.error_message


def test_c31_a_text_that_cannot_be_decrypted_is_left_out_and_counted(ask, run, scored):
    scored(4)
    field = Completion._meta.get_field("prompt")
    assert damage_rows(field, Completion.objects.filter(pk=Completion.objects.order_by("pk")[1].pk)) == 1
    export = run(ask())
    assert (export.status, export.rows, export.left_out) == ("completed", 3, 1)


def test_a_damaged_file_key_fails_the_export_at_once(ask, run, scored):
    scored(1)
    export, other = ask(), ask()
    Export.objects.filter(pk=other.pk).update(leased_until=timezone.now() + timedelta(hours=1))
    damage_rows(Export._meta.get_field("file_key"), Export.objects.filter(pk=export.pk))
    assert (run(export).status, export.error_code) == ("failed", "unreadable_text")


def test_an_export_that_kills_its_workers_fails(ask, run):
    export = ask()
    for _ in range(running.MOST_FAILURES):
        claim()
        lease_runs_out(export)
    run(export)
    assert (export.status, export.error_code) == ("failed", "worker_lost")


def test_an_export_waits_for_an_unavailable_storage(api, scored, ask, run, storage, settings):
    scored(1)
    export = ask()
    storage.parent.mkdir(exist_ok=True)
    storage.write_text("a file where the folder should be")
    run(export)
    assert (export.status, export.failures) == ("pending", 1)
    storage.unlink()
    Export.objects.filter(pk=export.pk).update(leased_until=None)
    assert run(export).status == "completed"


@pytest.mark.usefixtures("small_parts")
def test_a_database_outage_causes_no_failure_and_loses_no_file(api, scored, ask, run, storage, monkeypatch):
    """Also where the commit went well, and only its answer was lost."""
    completions = scored(5)
    export = ask()
    real = parts.commit

    def lost_answer(mine, part):
        real(mine, part)
        raise OperationalError("the connection was closed")

    with monkeypatch.context() as patch:
        patch.setattr(parts, "commit", lost_answer)
        run(export)
    assert (export.status, export.rows) == ("running", 2)
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows) == ("completed", 5)
    assert content_ids(api, export) == [public("comp", completion) for completion in completions]
