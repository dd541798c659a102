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
            return erasing.erase([completion.pk for completion in completions], end_unfinished=True)

    return now


def test_erasing_a_text_withdraws_exports_that_contain_it(api, scored, ask, run, storage, erase):
    from autotune.access.models import AuditEvent

    completions = scored(3)
    export = run(ask())
    erase(completions[1])
    export.refresh_from_db()
    assert (export.status, export.file_key, export.error_code) == ("withdrawn", None, "withdrawn")
    assert files_in(storage) == []
    assert download(api, export).json()["code"] == "export_withdrawn"
    event = AuditEvent.objects.get(action="exports.withdraw")
    assert (event.object_id, event.organization_id, event.actor) == (export.public_id, api.organization.pk, "erasure")
    again = run(ask())
    assert content_ids(api, again) == [public("comp", completions[0]), public("comp", completions[2])]


def test_deleting_a_score_withdraws_exports_that_contain_it(scored, ask, run, django_capture_on_commit_callbacks):
    completions = scored(3)
    export = run(ask())
    with django_capture_on_commit_callbacks(execute=True):
        deleting.delete_score(completions[1].scores.get().pk)
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("withdrawn", None)


def test_exports_without_the_text_stay(api, scored, ask, run, erase, api_for):
    other_task = TaskFactory(organization=api.organization)
    elsewhere = scored(1, task=other_task)
    completions = scored(3)
    before = run(ask(taskId=public("task", completions[0].task)))
    later = scored(2)  # behind the range
    other_model = run(ask(modelId="another"))
    foreign = scored(1, task=TaskFactory())
    erase(*elsewhere, later[1], *foreign)
    for export in (before, other_model):
        export.refresh_from_db()
        assert export.status == "completed"


def test_an_export_of_all_organizations_is_withdrawn_for_any_text(api_for, operating, scored, ask, run, erase):
    foreign = scored(1, task=TaskFactory(organization=OrganizationFactory()))
    export = run(ask(by=api_for(organization=operating, role="admin")))
    assert export.rows == 1
    erase(*foreign)
    export.refresh_from_db()
    assert export.status == "withdrawn"


@pytest.mark.usefixtures("small_parts")
def test_a_completion_deleted_while_its_part_is_written_is_not_in_it(api, scored, ask, run, monkeypatch):
    """Retention of scores leaves no row behind that could say when its text went."""
    completions = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def purged_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            assert purging.purge([completions[2].pk], scored_before=timezone.now() + timedelta(days=1)) == 1
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", purged_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [
        public("comp", completion) for completion in completions if completion != completions[2]
    ]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_while_its_part_is_written_is_not_in_it(api, scored, ask, run, erase, storage, monkeypatch):
    """It was read, and the file written; then it was erased, before the part counted."""
    completions = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(completions[2])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    expected = [public("comp", completion) for completion in completions if completion != completions[2]]
    assert content_ids(api, export) == expected
    assert len(files_in(storage)) == ExportFile.objects.filter(export=export).count()


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_between_its_reading_and_its_part_is_not_in_it(api, scored, ask, run, erase, monkeypatch):
    """The first batch of the next part is read before the current part is committed."""
    completions = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 0 and not turns:
            turns.append(1)
            erase(completions[2])  # the next part's first, read already
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [
        public("comp", completion) for completion in completions if completion != completions[2]
    ]


@pytest.mark.usefixtures("small_parts")
def test_a_text_erased_from_a_finished_part_withdraws_a_running_export(
    api, scored, ask, run, erase, storage, monkeypatch
):
    completions = scored(5)
    export = ask()
    real, turns = parts.commit, []

    def erased_before(mine, part):
        if part.number == 1 and not turns:
            turns.append(1)
            erase(completions[0])
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", erased_before)
    run(export)
    assert (export.status, export.file_key) == ("withdrawn", None)
    assert files_in(storage) == []


@pytest.mark.usefixtures("small_parts")
def test_an_empty_part_has_no_file(api, scored, ask, run, monkeypatch):
    completions = scored(6)
    export = ask()
    real = parts.make

    def erased_before(mine, key, query, columns, cutter, part):
        if part.number == 1:  # behind the reading of the heads
            Completion.objects.filter(pk__in=[completions[3].pk]).update(
                prompt=None, response=None, erased_at=timezone.now()
            )
        return real(mine, key, query, columns, cutter, part)

    monkeypatch.setattr(parts, "make", erased_before)
    run(export)
    assert export.status == "completed"
    assert export.rows + export.left_out <= 6
    assert all(rows_ for rows_ in ExportFile.objects.filter(export=export, kind="data").values_list("rows", flat=True))
