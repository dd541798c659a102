"""The same in Redis; and in the database as soon as Redis is away."""

import socket
import uuid

import pytest
import redis
from django.conf import settings as configured

from autotune.access.models import Throttle
from autotune.access.throttling import rates
from autotune.access.throttling.rates import Rate, ThrottleDecision
from autotune.core import redis as ours
from tests.support.concurrency import together

SLOW = Rate(per_minute=1, burst=5)


@pytest.fixture
def subject():
    return f"test:{uuid.uuid4()}"


@pytest.fixture
def client():
    with redis.Redis.from_url(configured.REDIS_URL) as client:
        yield client


@pytest.mark.redis
def test_it_counts_without_the_database(subject, client):
    """No database is available in this test."""
    allowances = [rates.check(subject, SLOW) for _ in range(6)]
    assert [allowance.admitted for allowance in allowances] == [True] * 5 + [False]
    assert allowances[0] == ThrottleDecision(admitted=True, limit=5, remaining=4, reset_s=60, retry_after_s=0)
    assert allowances[-1] == ThrottleDecision(admitted=False, limit=5, remaining=0, reset_s=300, retry_after_s=60)
    assert 299_000 <= client.pttl(f"autotune:throttle:{subject}") <= 300_000


@pytest.mark.redis
@pytest.mark.parametrize("rate", [Rate(1, 1), Rate(7, 3), Rate(60, 60)], ids=str)
def test_after_the_first_request_the_burst_less_one_remains(subject, rate):
    assert rates.check(subject, rate).remaining == rate.burst - 1


@pytest.mark.redis
def test_each_interval_restores_one_request(subject, client):
    key = f"autotune:throttle:{subject}"
    for _ in range(6):
        rates.check(subject, SLOW)
    client.set(key, int(client.get(key)) - 60_000_000)
    assert [rates.check(subject, SLOW).admitted for _ in range(2)] == [True, False]


@pytest.mark.redis
def test_concurrent_requests_admit_exactly_the_burst(subject):
    rate = Rate(per_minute=1, burst=100)

    def thirty():
        return sum(rates.check(subject, rate).admitted for _ in range(30))

    assert sum(together(*[thirty] * 8)) == 100


def test_without_redis_the_database_applies_the_same_limit(db, settings, subject, monkeypatch):
    monkeypatch.setattr(ours, "_client", None)
    monkeypatch.setattr(ours, "_away_until", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    assert [rates.check(subject, SLOW).admitted for _ in range(6)] == [True] * 5 + [False]
    assert Throttle.objects.filter(pk=subject).exists()
