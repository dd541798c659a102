"""Concurrent requests for one grader, on PostgreSQL: one wins, the other gets an error, nothing is lost or a 500."""

import threading

import pytest
from django.db import connection

from graders import credentials, status, versions
from graders.models import Grader, GraderSecret, GraderStatistic, GraderStatusChange, GraderVersion, Tally
from graders.states import GraderStatus, Trouble
from graders.statistics import folding, tallies

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
BODY = {"name": "Law", "endpoint": "https://grader.example.org/v1", "capabilities": {}}


def at_once(*functions):
    """Run all in threads of their own, released together. Their results in order."""
    gate, results = threading.Barrier(len(functions)), [None] * len(functions)

    def run(place, function):
        gate.wait()
        try:
            results[place] = function()
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def clients(api, count):
    return [type(api)(api.key) for _ in range(count)]


def test_concurrent_registrations_of_a_name_leave_one(owner):
    answers = at_once(*(lambda a=api: a.post("/graders", BODY).status_code for api in clients(owner, 6)))
    assert sorted(answers) == [201] + [409] * 5
    assert (Grader.objects.count(), GraderSecret.objects.count()) == (1, 1)


def test_of_concurrent_rotations_one_succeeds(owner, grader, path):
    answers = at_once(*(lambda a=api: a.post(f"{path}/rotate-secret").status_code for api in clients(owner, 6)))
    assert sorted(answers) == [200] + [409] * 5
    assert GraderSecret.objects.count() == 2


def test_concurrent_forced_rotations_leave_one_current_secret(owner, grader, path):
    body = {"force": True}
    answers = at_once(*(lambda a=api: a.post(f"{path}/rotate-secret", body).status_code for api in clients(owner, 6)))
    assert answers == [200] * 6
    assert sorted(GraderSecret.objects.values_list("current", flat=True)) == [False, True]


def test_patches_of_different_members_are_all_kept(owner, grader, path):
    bodies = [{"limits": {"ratePerMinute": 7}}, {"limits": {"maxConcurrency": 3}}, {"description": "x"}]
    answers = at_once(
        *(
            lambda a=api, b=body: a.patch(path, b).status_code
            for api, body in zip(clients(owner, 3), bodies, strict=True)
        )
    )
    assert answers == [200] * 3
    grader.refresh_from_db()
    assert (grader.rate_per_minute, grader.max_concurrency, grader.description) == (7, 3, "x")


def test_of_concurrent_deletions_one_succeeds(owner, grader, path):
    answers = at_once(*(lambda a=api: a.delete(path).status_code for api in clients(owner, 4)))
    assert sorted(answers) == [204, 404, 404, 404]


def test_a_concurrent_status_change_happens_once(grader):
    move = lambda: status.change(grader.pk, GraderStatus.DEGRADED, "x", only_from=[GraderStatus.ACTIVE])  # noqa: E731
    assert sorted(at_once(*[move] * 5)) == [False] * 4 + [True]
    assert GraderStatusChange.objects.count() == 1


def test_concurrent_refusals_are_all_counted(grader):
    at_once(*[lambda: status.note_auth_failure(grader.pk)] * 6)
    grader.refresh_from_db()
    assert (grader.auth_failures, grader.status) == (6, "degraded")
    assert GraderStatusChange.objects.count() == 1


def test_a_version_seen_concurrently_is_stored_once(grader):
    version_ids = at_once(*[lambda: versions.seen(Grader.objects.get(), "9.9").pk] * 5)
    assert len(set(version_ids)) == 1
    assert GraderVersion.objects.filter(label="9.9").count() == 1


def test_concurrent_folding_counts_everything_once(grader):
    for _ in range(200):
        tallies.record(grader.pk, None, values=[0.5, 1.0], latency_ms=[3.0, 4.0], errors={"timeout": 1})
    at_once(*[folding.fold] * 4, lambda: tallies.record(grader.pk, None, values=[0.0], latency_ms=[1.0], errors={}))
    folding.fold()
    assert not Tally.objects.exists()
    assert sum(GraderStatistic.objects.values_list("scored", flat=True)) == 401


def test_concurrent_confirmations_are_recorded_once(owner, grader, path):
    owner.post(f"{path}/rotate-secret")
    key_id = GraderSecret.objects.get(current=True).key_id
    assert sorted(at_once(*[lambda: credentials.confirm(key_id)] * 4)) == [False] * 3 + [True]


def test_concurrent_troubles_are_all_kept_and_degrade_it_once(grader):
    at_once(*(lambda t=trouble: status.trouble(grader.pk, t, t) for trouble in Trouble))
    grader.refresh_from_db()
    assert (sorted(grader.troubles), grader.status) == (sorted(Trouble), "degraded")
    at_once(*(lambda t=trouble: status.recovered(grader.pk, t, t) for trouble in Trouble))
    grader.refresh_from_db()
    assert (grader.troubles, grader.status) == ([], "active")
    assert GraderStatusChange.objects.count() == 2
