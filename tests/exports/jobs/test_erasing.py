"""What is erased or deleted leaves exports: their files are withdrawn, and parts made without it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from exports.models import ExportFile
from exports.work import parts
from scores.retention import deleting, erasing, purging
from tasks.models import Completion
from tests.exports.jobs.conftest import content_ids, download, files_in
from tests.factories import OrganizationFactory, TaskFactory, public

pytestmark = pytest.mark.django_db


@pytest.fixture
def erase(django_capture_on_commit_callbacks):
    def now(*completions):
        with django_capture_on_commit_callbacks(execute=True):
            return erasing.erase([one.pk for one in completions], end_unfinished=True)

    return now


def test_an_erased_text_withdraws_what_holds_it(api, scored, ask, run, storage, erase):
    from autotune.access.models import AuditEvent

    made = scored(3)
    export = run(ask())
    erase(made[1])
    export.refresh_from_db()
    assert (export.status, export.file_key, export.error_code) == ("withdrawn", None, "withdrawn")
    assert files_in(storage) == []
    assert download(api, export).json()["code"] == "export_withdrawn"
    event = AuditEvent.objects.get(action="exports.withdraw")
    assert (event.object_id, event.organization_id, event.actor) == (export.public_id, api.organization.pk, "erasure")
    again = run(ask())
    assert content_ids(api, again) == [public("comp", made[0]), public("comp", made[2])]


def test_a_deleted_score_withdraws_what_tells_it(scored, ask, run, django_capture_on_commit_callbacks):
    made = scored(3)
    export = run(ask())
    with django_capture_on_commit_callbacks(execute=True):
        deleting.delete_score(made[1].scores.get().pk)
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("withdrawn", None)


def test_what_does_not_hold_it_stays(api, scored, ask, run, erase, api_for):
    other_task = TaskFactory(organization=api.organization)
    elsewhere = scored(1, task=other_task)
    made = scored(3)
    before = run(ask(taskId=public("task", made[0].task)))
    later = scored(2)  # behind the range
    other_model = run(ask(modelId="another"))
    foreign = scored(1, task=TaskFactory())
    erase(*elsewhere, later[1], *foreign)
    for export in (before, other_model):
        export.refresh_from_db()
        assert export.status == "completed"


def test_an_export_of_all_is_withdrawn_for_anybodys_text(api_for, operating, scored, ask, run, erase):
    foreign = scored(1, task=TaskFactory(organization=OrganizationFactory()))
    export = run(ask(by=api_for(organization=operating, role="admin")))
    assert export.rows == 1
    erase(*foreign)
    export.refresh_from_db()
    assert export.status == "withdrawn"


@pytest.mark.usefixtures("small_parts")
def test_a_completion_deleted_in_a_part_that_is_being_made_is_not_in_it(api, scored, ask, run, monkeypatch):
    """Retention of scores leaves no row behind that could say when its text went."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def purged_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            assert purging.purge([made[2].pk], scored_before=timezone.now() + timedelta(days=1)) == 1
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", purged_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", one) for one in made if one != made[2]]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_in_a_part_that_is_being_made_is_not_in_it(api, scored, ask, run, erase, storage, monkeypatch):
    """It was read, and the file written; then it was erased, before the part counted."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(made[2])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    expected = [public("comp", one) for one in made if one != made[2]]
    assert content_ids(api, export) == expected
    assert len(files_in(storage)) == ExportFile.objects.filter(export=export).count()


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_between_its_reading_and_its_part_is_not_in_it(api, scored, ask, run, erase, monkeypatch):
    """The first batch of the next part is read before the part at hand is committed."""
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 0 and not turns:
            turns.append(1)
            erase(made[2])  # the next part's first, read already
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", one) for one in made if one != made[2]]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_from_a_finished_part_withdraws_a_running_export(
    api, scored, ask, run, erase, storage, monkeypatch
):
    made = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(made[0])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert (export.status, export.file_key) == ("withdrawn", None)
    assert files_in(storage) == []


@pytest.mark.usefixtures("small_parts")
def test_a_part_of_which_nothing_is_left_has_no_file(api, scored, ask, run, monkeypatch):
    made = scored(6)
    export = ask()
    real = parts.make

    def erased_before(mine, key, query, schema, cutter, part):
        if part.number == 1:  # behind the reading of the heads
            Completion.objects.filter(pk__in=[made[3].pk]).update(prompt=None, response=None, erased_at=timezone.now())
        return real(mine, key, query, schema, cutter, part)

    monkeypatch.setattr(parts, "make", erased_before)
    run(export)
    assert export.status == "completed"
    assert export.rows + export.left_out <= 6
    assert all(rows_ for rows_ in ExportFile.objects.filter(export=export, kind="data").values_list("rows", flat=True))
