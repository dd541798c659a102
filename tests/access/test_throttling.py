"""The generic cell rate algorithm in the database: a rate and a burst, counted separately for each subject."""

from datetime import timedelta

import pytest

from autotune.access import jobs
from autotune.access.models import Throttle
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Rate, ThrottleDecision
from autotune.core.clock import database_now
from tests.support.concurrency import together

SLOW = Rate(per_minute=1, burst=5)  # nothing comes back while a test runs


@pytest.fixture(autouse=True)
def _without_redis(settings):
    settings.REDIS_URL = ""


def admitted(subject, rate, times):
    return [rates.check(subject, rate).admitted for _ in range(times)]


def earlier(subject, **ago):
    """As if so much time had gone by."""
    row = Throttle.objects.get(pk=subject)
    row.arrives_at -= timedelta(**ago)
    row.save()


def test_a_burst_is_admitted_and_the_next_one_is_not(db):
    assert admitted("key:a", SLOW, 7) == [True] * 5 + [False] * 2


def test_each_subject_has_its_own_burst(db):
    admitted("key:a", SLOW, 6)
    assert admitted("key:b", SLOW, 6) == [True] * 5 + [False]


def test_each_interval_restores_one_request(db):
    admitted("key:a", SLOW, 6)
    earlier("key:a", seconds=60)
    assert admitted("key:a", SLOW, 2) == [True, False]
    earlier("key:a", seconds=180)
    assert admitted("key:a", SLOW, 4) == [True, True, True, False]


def test_at_most_a_burst_is_restored_after_any_time(db):
    admitted("key:a", SLOW, 6)
    earlier("key:a", days=30)
    assert admitted("key:a", SLOW, 6) == [True] * 5 + [False]


def test_refused_requests_use_no_allowance(db):
    admitted("key:a", SLOW, 50)
    earlier("key:a", seconds=60)
    assert admitted("key:a", SLOW, 1) == [True]


def test_it_reports_the_remaining_requests_and_the_reset(db):
    first, second = rates.check("key:a", SLOW), rates.check("key:a", SLOW)
    assert first == ThrottleDecision(admitted=True, limit=5, remaining=4, reset_s=60, retry_after_s=0)
    assert (second.remaining, second.reset_s) == (3, 120)
    admitted("key:a", SLOW, 3)
    refused = rates.check("key:a", SLOW)
    assert refused == ThrottleDecision(admitted=False, limit=5, remaining=0, reset_s=300, retry_after_s=60)


@pytest.mark.parametrize("rate", [Rate(1, 1), Rate(7, 3), Rate(60, 60)], ids=str)
def test_after_the_first_request_the_burst_less_one_remains(db, rate):
    allowance = rates.check("key:a", rate)
    assert (allowance.admitted, allowance.remaining) == (True, rate.burst - 1)


def test_a_lowered_rate_applies_at_once(db):
    admitted("key:a", Rate(per_minute=1, burst=50), 20)
    assert admitted("key:a", SLOW, 1) == [False]


def test_counting_takes_one_statement(db, django_assert_num_queries):
    with django_assert_num_queries(1):
        rates.check("key:a", SLOW)
    with django_assert_num_queries(1):
        rates.check("key:a", SLOW)


@pytest.mark.django_db(transaction=True)
def test_concurrent_requests_admit_exactly_the_burst():
    def twenty():
        return admitted("key:a", Rate(per_minute=1, burst=50), 20)

    admissions = together(*[twenty] * 8)
    assert sum(map(sum, admissions)) == 50


@pytest.mark.django_db(transaction=True)
def test_concurrent_first_requests_admit_exactly_one():
    allowances = together(*[lambda: rates.check("key:new", Rate(per_minute=1, burst=1))] * 8)
    assert sorted(allowance.admitted for allowance in allowances) == [False] * 7 + [True]
    assert {allowance.retry_after_s for allowance in allowances if not allowance.admitted} <= {59, 60}


def test_rows_without_effect_are_deleted_daily(db):
    admitted("key:a", SLOW, 1)
    admitted("key:b", SLOW, 3)
    earlier("key:a", seconds=61)
    jobs.clean_up()
    assert list(Throttle.objects.values_list("pk", flat=True)) == ["key:b"]
    assert rates.clean(database_now() + timedelta(hours=1)) == 1
