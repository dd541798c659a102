"""Rate limits by the generic cell rate algorithm, shared by all processes and exact under concurrency.

A caller's state is one time, the theoretical arrival of its next request. Each request moves it forward by the rate's
interval, and a request that would move it further ahead of now than the burst allows is rejected. The check and the
move are one step: a script in Redis, or one statement in the database while Redis is unavailable or not used. Each
store counts only its own requests, so a switch between them gives a caller at most one more burst.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

import redis
from django.db import connection

from autotune.access.models import Throttle
from autotune.core.redis import attempt

MINUTE_US: Final = 60_000_000
SECOND_US: Final = 1_000_000

IN_REDIS: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local arrives = tonumber(redis.call('GET', KEYS[1]) or 0)
if arrives < now then arrives = now end
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
if arrives + interval - now > burst then return {0, arrives - now} end
arrives = arrives + interval
redis.call('SET', KEYS[1], string.format('%.0f', arrives), 'PX', math.ceil((arrives - now) / 1000))
return {1, arrives - now}
"""
# A crash may lose the last moves, as with Redis, so that nobody waits for the disk while the row is locked.
IN_POSTGRES: Final = """
insert into access_throttle as known (subject, arrives_at)
select %(subject)s, clock_timestamp() + %(interval)s * interval '1 microsecond'
  from (select set_config('synchronous_commit', %(commit)s, true)) as durability(said) where said is not null
on conflict (subject) do update
   set arrives_at = greatest(known.arrives_at, clock_timestamp()) + %(interval)s * interval '1 microsecond'
 where known.arrives_at <= clock_timestamp() + (%(burst)s - %(interval)s) * interval '1 microsecond'
returning arrives_at, clock_timestamp()
"""
REFUSED_BY_POSTGRES: Final = "select arrives_at, clock_timestamp() from access_throttle where subject = %(subject)s"
NOW_IN_SQLITE: Final = "strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now')"
IN_SQLITE: Final = f"""
insert into access_throttle as known (subject, arrives_at)
values (%(subject)s, django_format_dtdelta('+', {NOW_IN_SQLITE}, %(interval)s))
on conflict (subject) do update
   set arrives_at = django_format_dtdelta('+', max(known.arrives_at, {NOW_IN_SQLITE}), %(interval)s)
 where known.arrives_at <= django_format_dtdelta('+', {NOW_IN_SQLITE}, %(burst)s - %(interval)s)
returning arrives_at, {NOW_IN_SQLITE}
"""  # noqa: S608 nothing is put into it but a constant
REFUSED_BY_SQLITE: Final = f"select arrives_at, {NOW_IN_SQLITE} from access_throttle where subject = %(subject)s"  # noqa: S608


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of requests a minute, evenly spaced, of which `burst` may come at once."""

    per_minute: int
    burst: int

    @property
    def interval_us(self) -> int:
        """The microseconds by which one request moves the arrival time."""
        return max(1, MINUTE_US // self.per_minute)

    @property
    def burst_us(self) -> int:
        return self.burst * self.interval_us


@dataclass(frozen=True, slots=True)
class ThrottleDecision:
    """The result of `check`.

    limit          requests that may come at once
    remaining      how many of these may come now
    reset_s        seconds until all of them may come
    retry_after_s  seconds until one may come; 0 if this one was admitted
    """

    admitted: bool
    limit: int
    remaining: int
    reset_s: int
    retry_after_s: int

    @classmethod
    def of(cls, rate: Rate, admitted: bool, ahead_us: int) -> "ThrottleDecision":
        """Return the allowance of a caller whose arrival time is `ahead_us` ahead of now."""
        missing_us = ahead_us + rate.interval_us - rate.burst_us
        return cls(
            admitted,
            rate.burst,
            max(0, (rate.burst_us - ahead_us) // rate.interval_us),
            ceil(max(0, ahead_us) / SECOND_US),
            0 if admitted else max(1, ceil(missing_us / SECOND_US)),
        )


def check(subject: str, rate: Rate) -> ThrottleDecision:
    """Count a request of `subject` (up to 120 characters), unless it comes too early.

    Call it outside of a transaction: if the database counts, a rollback would forget the request.
    """
    redis_reply: list[int] | None = attempt(lambda client: _in_redis(client, subject, rate), otherwise=None)
    admitted, ahead_us = redis_reply if redis_reply else _in_database(subject, rate)
    return ThrottleDecision.of(rate, bool(admitted), int(ahead_us))


def clean(now: datetime) -> int:
    """Delete the rows that no longer throttle anybody, and return how many."""
    return Throttle.objects.filter(arrives_at__lte=now).delete()[0]


def _in_redis(client: redis.Redis, subject: str, rate: Rate) -> Any:
    return client.eval(IN_REDIS, 1, f"autotune:throttle:{subject}", rate.interval_us, rate.burst_us)


def _in_database(subject: str, rate: Rate) -> tuple[bool, int]:
    """Return whether the request is admitted, and how far its caller is ahead of now."""
    on_postgres = connection.vendor == "postgresql"
    values: dict[str, str | int] = {"subject": subject, "interval": rate.interval_us, "burst": rate.burst_us}
    if on_postgres:
        values["commit"] = "on" if connection.in_atomic_block else "off"  # a caller's transaction stays durable
    with connection.cursor() as cursor:
        cursor.execute(IN_POSTGRES if on_postgres else IN_SQLITE, values)
        moved = cursor.fetchone()
        if moved is None:
            cursor.execute(REFUSED_BY_POSTGRES if on_postgres else REFUSED_BY_SQLITE, values)
        times = moved or cursor.fetchone()
    if times is None:  # deleted meanwhile, so there is nothing to wait for
        return False, 0
    return moved is not None, _us(*(time if on_postgres else datetime.fromisoformat(str(time)) for time in times))


def _us(later: datetime, earlier: datetime) -> int:
    return (later - earlier) // timedelta(microseconds=1)
