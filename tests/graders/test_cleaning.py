"""The daily clean-up of checks and changes of status."""

from datetime import timedelta

import pytest
from django.utils import timezone

from graders import cleaning, jobs
from graders.models import Grader, GraderCheck, GraderGuard, GraderStatusChange
from tests.factories import GraderFactory

NOW = timezone.now()


def check(grader, *, days, count=1):
    GraderCheck.objects.bulk_create(
        GraderCheck(grader=grader, name="health", passed=True, at=NOW - timedelta(days=days)) for _ in range(count)
    )


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(cleaning, "KEPT", 3)


def test_old_checks_are_deleted_except_the_newest_of_each_grader(grader, few):
    other = GraderFactory()
    check(grader, days=31, count=5)
    check(grader, days=29, count=2)
    check(other, days=100, count=3)
    kept = set(grader.checks.order_by("-id").values_list("pk", flat=True)[:3])
    assert cleaning.clean(NOW) == 4
    assert set(grader.checks.values_list("pk", flat=True)) == kept
    assert other.checks.count() == 3
    assert cleaning.clean(NOW) == 0


def test_recent_checks_stay(grader, few):
    check(grader, days=29, count=9)
    assert cleaning.clean(NOW) == 0


def test_the_number_of_recent_checks_is_bounded(grader, monkeypatch):
    monkeypatch.setattr(cleaning, "MOST_CHECKS", 4)
    check(grader, days=1, count=9)
    assert cleaning.clean(NOW) == 5


def test_many_are_deleted_in_short_statements(grader, few, monkeypatch):
    monkeypatch.setattr(cleaning, "AT_ONCE", 2)
    check(grader, days=31, count=10)
    assert cleaning.clean(NOW) == 7


def test_changes_of_status_are_kept_for_more_than_a_year(grader, few):
    for days in (500, 401, 399, 10, 5):
        GraderStatusChange.objects.create(
            grader=grader, previous="active", current="degraded", reason="x", at=NOW - timedelta(days=days)
        )
    assert cleaning.clean(NOW) == 2
    assert GraderStatusChange.objects.count() == 3


def test_the_guards_of_deleted_graders_are_deleted(grader):
    GraderGuard.objects.create(grader=grader)
    GraderGuard.objects.create(grader=GraderFactory())
    Grader.objects.filter(pk=grader.pk).update(deleted_at=NOW - timedelta(days=2))
    assert cleaning.clean(NOW) == 1
    assert not GraderGuard.objects.filter(grader=grader).exists()


def test_the_job_cleans(grader, few):
    check(grader, days=31, count=4)
    jobs.clean_up()
    assert grader.checks.count() == 3
