"""What the answers to calls do to a grader's status."""

import pytest

from graders import status
from graders.models import Grader, GraderStatusChange
from graders.states import GraderStatus


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


def test_a_change_to_where_it_is_records_nothing(grader):
    assert status.change(grader.pk, GraderStatus.ACTIVE, "again") is False
    assert not GraderStatusChange.objects.exists()


def test_a_change_from_elsewhere_does_nothing(grader, now):
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
    status.change(grader.pk, GraderStatus.DEGRADED, "it says so")
    status.note_auth_failure(grader.pk)
    status.note_auth_success(grader.pk)
    assert now() == "degraded"


def test_without_failures_a_good_answer_is_one_look(grader, django_assert_num_queries):
    with django_assert_num_queries(1):
        status.note_auth_success(grader.pk)


def test_an_inactive_grader_stays_so(grader, now):
    status.change(grader.pk, GraderStatus.INACTIVE, "off")
    for _ in range(4):
        status.note_auth_failure(grader.pk)
    assert now() == "inactive"


def test_the_counter_does_not_run_over(grader):
    Grader.objects.update(auth_failures=status.MAX_AUTH_FAILURES)
    status.note_auth_failure(grader.pk)
    grader.refresh_from_db()
    assert grader.auth_failures == status.MAX_AUTH_FAILURES


def test_a_signed_410_makes_it_inactive_until_it_was_verified_again(owner, grader, path, now):
    assert status.note_gone(grader.pk) is True
    assert status.note_gone(grader.pk) is False
    assert (now(), grader.verified_at) == ("inactive", None)
    assert grader.gone_at is not None
    assert owner.patch(path, {"status": "active"}).json()["code"] == "not_verified"
