"""Running: leases, workers that die, and parts that are continued."""

import threading

import pytest

from exports.files import storing
from exports.models import ExportFile
from exports.work import claims, finishing, parts, running
from tests.exports.jobs.conftest import claim, content_ids, files_in, lease_runs_out
from tests.factories import public

pytestmark = pytest.mark.django_db


class Died(BaseException):
    """A process that ends at this point: no handler catches it."""


def dies_in(monkeypatch, place, name, *, times=1, after=0):
    """`place.name` ends the worker for `times` calls, after that many went well."""
    real, calls = getattr(place, name), []

    def call(*args, **more):
        calls.append(1)
        if after < len(calls) <= after + times:
            raise Died
        return real(*args, **more)

    monkeypatch.setattr(place, name, call)


def test_a_claim_belongs_to_one_worker(ask):
    export = ask()
    first = claims.take()
    assert first == export
    assert claims.take() is None
    lease_runs_out(export)
    second = claims.take()
    assert (second.attempt, second.failures) == (first.attempt + 1, 1)
    assert claims.renew(second)
    assert not claims.renew(first)
    with pytest.raises(claims.LeaseLost):
        claims.locked(first)


def test_organizations_take_turns(ask, api_for, settings):
    settings.EXPORTS_RUNNING = 2
    mine = [ask() for _ in range(4)]
    other = ask(by=api_for(role="training_operator"))
    assert [claims.take() for _ in range(4)] == [mine[0], mine[1], other, None]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("place", "name", "after"),
    [(parts, "commit", 0), (parts, "commit", 1), (storing, "store", 1), (storing, "store", 3), (parts, "make", 2)],
)
def test_a_worker_that_dies_loses_at_most_its_part(api, scored, ask, run, storage, monkeypatch, place, name, after):
    completions = scored(5)
    export = ask()
    with monkeypatch.context() as patch:
        dies_in(patch, place, name, after=after)
        with pytest.raises(Died):
            run()
    assert running._run_lock.acquire(blocking=False)
    running._run_lock.release()
    export.refresh_from_db()
    done = export.rows
    assert export.status == "running"
    run()
    export.refresh_from_db()
    assert export.status == "running"  # the lease holds
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows, export.attempt) == ("completed", 5, 2)
    assert content_ids(api, export) == [public("comp", completion) for completion in completions]
    assert len(files_in(storage)) == ExportFile.objects.filter(export=export).count() == 5
    assert done in (0, 2, 4, 5)


@pytest.mark.usefixtures("small_parts")
def test_a_worker_whose_lease_expired_writes_nothing(api, scored, ask, run, storage, monkeypatch):
    completions = scored(5)
    export = ask()
    late = claim()
    real, turns = parts.commit, []

    def slow(mine, part):
        """The first worker sleeps before its second commit until another one has done all of it."""
        if mine.attempt == 1 and part.number == 1 and not turns:
            turns.append(1)
            lease_runs_out(export)
            running.run(claim())
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", slow)
    running.run(late)
    export.refresh_from_db()
    assert (export.status, export.rows, export.attempt) == ("completed", 5, 2)
    assert content_ids(api, export) == [public("comp", completion) for completion in completions]
    assert len(files_in(storage)) == 5


@pytest.mark.usefixtures("small_parts")
def test_a_worker_that_is_stopped_returns_the_export(api, scored, ask, run, monkeypatch):
    completions = scored(5)
    export = ask()
    real = parts.commit

    def commit_and_stop(mine, part):
        kept = real(mine, part)
        running.stop()
        return kept

    with monkeypatch.context() as patch:
        patch.setattr(running, "_stopping", threading.Event())
        patch.setattr(parts, "commit", commit_and_stop)
        run(export)
    assert (export.status, export.rows, export.leased_until, export.failures) == ("pending", 2, None, 0)
    run(export)
    assert export.status == "completed"
    assert content_ids(api, export) == [public("comp", completion) for completion in completions]


def test_resumed_json_is_still_one_file(scored, ask, run, monkeypatch):
    """Whatever was scored after its only part was noted."""
    scored(2)
    export = ask(format="json")
    with monkeypatch.context() as patch:
        dies_in(patch, finishing, "finish")
        with pytest.raises(Died):
            run()
    scored(1)
    lease_runs_out(export)
    run(export)
    assert (export.status, export.rows) == ("completed", 2)
    assert [file.name for file in ExportFile.objects.filter(export=export, kind="data")] == ["records.json"]
