"""Workers and erasures at the same time, on PostgreSQL: each waits for the other where it must."""

import threading

import pytest
from django.db import connection, transaction

from exports.models import Export, ExportFile
from exports.work import claims, parts, running
from scores.retention import erasing
from tests.exports.jobs.conftest import content_of, download, rows
from tests.factories import public
from tests.support.concurrency import until

pytestmark = [pytest.mark.django_db(transaction=True, serialized_rollback=True), pytest.mark.postgres]


def in_thread(work):
    def closing():
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=closing)
    thread.start()
    return thread


def test_each_export_is_claimed_by_one_worker(ask):
    exports = [ask() for _ in range(2)]
    taken, begin = [], threading.Barrier(8)

    def take():
        begin.wait()
        if (export := claims.take()) is not None:
            taken.append(export)

    for thread in [in_thread(take) for _ in range(8)]:
        thread.join()
    assert sorted(export.pk for export in taken) == sorted(export.pk for export in exports)
    assert [export.attempt for export in taken] == [1, 1]


@pytest.mark.usefixtures("small_parts")
def test_many_workers_make_one_file_of_each_export(api, scored, ask, monkeypatch):
    completions = scored(5)
    exports = [ask(), ask()]

    def work():
        while (export := claims.take()) is not None:
            running.run(export)

    for thread in [in_thread(work) for _ in range(6)]:
        thread.join()
    for export in exports:
        export.refresh_from_db()
        assert (export.status, export.attempt) == ("completed", 1)
        completion_ids = [row["metadata"]["completion_id"] for row in rows(content_of(download(api, export)))]
        assert completion_ids == [public("comp", completion) for completion in completions]


@pytest.mark.usefixtures("small_parts")
def test_a_part_waits_for_an_uncommitted_erasure(api, scored, ask, monkeypatch):
    """The part was read before the erasure began, and would be committed before it ends."""
    completions = scored(4)
    export = ask()
    erased, may_end, turns = threading.Event(), threading.Event(), []
    real = parts.commit

    def erase():
        with transaction.atomic():
            erasing.erase([completions[1].pk], end_unfinished=True)
            erased.set()
            may_end.wait(20)

    def during(mine, part):
        if part.number == 0 and not turns:
            turns.append(in_thread(erase))
            assert erased.wait(20)
            threading.Timer(0.3, may_end.set).start()
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", during)
    running.work()
    turns[0].join()
    export.refresh_from_db()
    assert export.status == "completed"
    completion_ids = [row["metadata"]["completion_id"] for row in rows(content_of(download(api, export)))]
    assert completion_ids == [public("comp", completion) for completion in completions if completion != completions[1]]


@pytest.mark.usefixtures("small_parts")
def test_an_erasure_waits_for_a_part_that_is_being_committed(scored, ask, monkeypatch):
    """The erasure then finds the part, and withdraws the export."""
    completions = scored(4)
    export = ask()
    real, threads = parts.noted, []

    def within_the_commit(facts):
        """Called inside the part's transaction, which holds the export's row."""
        if not threads:
            threads.append(in_thread(lambda: erasing.erase([completions[0].pk], end_unfinished=True)))
            until(_somebody_waits)
        return real(facts)

    monkeypatch.setattr(parts, "noted", within_the_commit)
    running.work()
    threads[0].join()
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("withdrawn", None)
    assert ExportFile.objects.count() == 0


def _somebody_waits():
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_locks where not granted")
        return cursor.fetchone()[0] > 0


def test_two_requests_at_the_limit_make_one_export(api, settings):
    settings.EXPORTS_WAITING = 1
    begin, statuses = threading.Barrier(4), []

    def post():
        begin.wait()
        from tests.conftest import Api

        statuses.append(Api(api.key).post("/exports", {}).status_code)

    for thread in [in_thread(post) for _ in range(4)]:
        thread.join()
    assert sorted(statuses) == [202, 409, 409, 409]
    assert Export.objects.count() == 1
