"""What the answers to calls do to a grader's status."""

import pytest

from graders import status
from graders.models import Grader, GraderStatusChange
from graders.states import GraderStatus, Trouble


@pytest.fixture
def now(grader):
    def read():
        grader.refresh_from_db()
        return grader.status

    return read


def test_a_change_is_recorded_with_its_reason(grader, now):
    before = grader.updated_at
    assert status.change(grader.pk, GraderStatus.DEGRADED, "because " + "x" * 900) is True
    assert now() == "degraded"
    assert grader.updated_at > before
    change = GraderStatusChange.objects.get()
    assert (change.previous, change.current, len(change.reason)) == ("active", "degraded", 600)


def test_a_change_to_the_same_status_records_nothing(grader):
    assert status.change(grader.pk, GraderStatus.ACTIVE, "again") is False
    assert not GraderStatusChange.objects.exists()


def test_a_change_from_another_status_does_nothing(grader, now):
    assert status.change(grader.pk, GraderStatus.INACTIVE, "x", only_from=[GraderStatus.DEGRADED]) is False
    assert now() == "active"


def test_a_deleted_grader_does_not_move(grader):
    Grader.objects.update(deleted_at=grader.created_at)
    assert status.change(grader.pk, GraderStatus.INACTIVE, "x") is False


def test_three_refusals_in_a_row_degrade_it(grader, now):
    for expected in ("active", "active", "degraded", "degraded"):
        status.note_auth_failure(grader.pk)
        assert now() == expected
    assert grader.auth_failures == 4
    assert [change.reason for change in GraderStatusChange.objects.all()] == [status.AUTH_REASON]


def test_a_good_answer_between_starts_the_count_again(grader, now):
    for _ in range(2):
        status.note_auth_failure(grader.pk)
        status.note_auth_failure(grader.pk)
        status.note_auth_success(grader.pk)
    assert (now(), grader.auth_failures) == ("active", 0)


def test_a_good_answer_ends_a_degradation_by_refusals(grader, now):
    for _ in range(3):
        status.note_auth_failure(grader.pk)
    status.note_auth_success(grader.pk)
    assert (now(), grader.auth_failures) == ("active", 0)


def test_a_good_answer_does_not_end_another_degradation(grader, now):
    status.trouble(grader.pk, Trouble.HEALTH, "it says so")
    for _ in range(3):
        status.note_auth_failure(grader.pk)
    status.note_auth_success(grader.pk)
    assert (now(), grader.troubles) == ("degraded", ["health"])


def test_the_end_of_the_last_trouble_makes_it_active(grader, now):
    assert status.trouble(grader.pk, Trouble.HEALTH, "ill") is True
    assert status.trouble(grader.pk, Trouble.CIRCUIT, "open") is True
    assert status.trouble(grader.pk, Trouble.CIRCUIT, "open again") is False
    assert status.recovered(grader.pk, Trouble.HEALTH, "well") is True
    assert now() == "degraded"
    assert status.recovered(grader.pk, Trouble.HEALTH, "well") is False
    assert status.recovered(grader.pk, Trouble.CIRCUIT, "closed") is True
    assert (now(), grader.troubles) == ("active", [])
    assert [change.reason for change in GraderStatusChange.objects.order_by("id")] == ["ill", "closed"]


def test_a_degradation_without_troubles_ends_with_any_recovery(grader, now):
    Grader.objects.update(status="degraded")
    assert status.recovered(grader.pk, Trouble.CIRCUIT, "closed") is True
    assert now() == "active"


def test_an_unverified_grader_does_not_become_active(grader, now):
    Grader.objects.update(status="degraded", verified_at=None)
    status.recovered(grader.pk, Trouble.HEALTH, "well")
    assert now() == "degraded"


def test_trouble_of_an_inactive_grader_waits_for_it(grader, now):
    status.change(grader.pk, GraderStatus.INACTIVE, "off")
    assert status.trouble(grader.pk, Trouble.CIRCUIT, "open") is True
    assert now() == "inactive"
    status.admit(grader.pk, "on")
    assert now() == "degraded"
    status.recovered(grader.pk, Trouble.CIRCUIT, "closed")
    assert now() == "active"


def test_trouble_of_a_deleted_grader_is_ignored(grader):
    Grader.objects.update(deleted_at=grader.created_at)
    assert status.trouble(grader.pk, Trouble.HEALTH, "x") is False
    assert status.recovered(grader.pk, Trouble.HEALTH, "x") is False
    assert status.admit(grader.pk, "x") is False


def test_without_failures_a_good_response_takes_one_query(grader, django_assert_num_queries):
    with django_assert_num_queries(1):
        status.note_auth_success(grader.pk)


def test_an_inactive_grader_stays_inactive(grader, now):
    status.change(grader.pk, GraderStatus.INACTIVE, "off")
    for _ in range(4):
        status.note_auth_failure(grader.pk)
    assert now() == "inactive"


def test_the_counter_does_not_run_over(grader):
    Grader.objects.update(auth_failures=status.MAX_AUTH_FAILURES)
    status.note_auth_failure(grader.pk)
    grader.refresh_from_db()
    assert grader.auth_failures == status.MAX_AUTH_FAILURES


def test_a_signed_410_makes_it_inactive_until_the_next_verification(owner, grader, path, now):
    assert status.note_gone(grader.pk) is True
    assert status.note_gone(grader.pk) is False
    assert (now(), grader.verified_at) == ("inactive", None)
    assert grader.gone_at is not None
    assert owner.patch(path, {"status": "active"}).json()["code"] == "not_verified"
