"""Store the shared state of a grader's guard: in Redis, or in a database row if there is no Redis or it is down.

A change is a pure function of the whole state. If another process changed the state first, the function is applied
again to the new state. State is never copied between Redis and the database: each holds the changes that were written
to it, and drops a state that has not changed for ten minutes. So a switch between them, or a flush, may lose the wait
of an open circuit (the grader's row still names the trouble, so a trial call is sent first), the batch size and the
current drains. Until the live drains have renewed, their calls are in progress beside those of others, and the bucket
may grant one more burst.
"""

from collections.abc import Callable
from typing import Final, TypeVar
from uuid import UUID

import redis
from django.db import IntegrityError, connection, transaction
from msgspec.structs import replace

from autotune.core.redis import attempt
from graders.guards.state import STALE_S, GuardState, decode, encode, from_row, to_row
from graders.models import GraderGuard

T = TypeVar("T")
Rule = Callable[[GuardState], tuple[GuardState, T]]

MAX_TRIES: Final = 200  # each failed try is another process's success, so one change never needs this many
COMPARE_AND_SET: Final = """
local found = redis.call('GET', KEYS[1]) or ''
if found ~= ARGV[1] then return found end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""


class GuardStore:
    """The stored state of one grader's guard. It caches the last state, so most changes take one round trip."""

    def __init__(self, grader_id: UUID) -> None:
        self.grader_id = grader_id
        self._seen = b""

    def change(self, rule: Rule[T], now: float) -> T:
        """Apply `rule`, which returns the new state and a result. It may be called several times."""
        done: tuple[T] | None = attempt(lambda client: (self._in_redis(client, rule, now),), otherwise=None)
        return done[0] if done else self._in_database(rule, now)

    def _in_redis(self, client: redis.Redis, rule: Rule[T], now: float) -> T:
        for _ in range(MAX_TRIES):
            state, result = rule(decode(self._seen, now))
            text = encode(_at(state, now))
            reply = client.eval(
                COMPARE_AND_SET, 1, f"autotune:guard:{self.grader_id}", self._seen, text, int(STALE_S * 1_000)
            )
            if reply == 1:
                self._seen = text
                return result
            self._seen = reply
        raise redis.RedisError("another process changed the guard's state before every try of this change")

    def _in_database(self, rule: Rule[T], now: float) -> T:
        with transaction.atomic():
            _need_not_be_durable()
            row = GraderGuard.objects.select_for_update().filter(pk=self.grader_id).first() or self._new_row()
            state, result = rule(from_row(row.state, now))
            row.state = to_row(_at(state, now))
            row.save(update_fields=["state", "changed_at"])
        return result

    def _new_row(self) -> GraderGuard:
        try:
            with transaction.atomic():
                return GraderGuard.objects.create(pk=self.grader_id)
        except IntegrityError:  # another process created it
            return GraderGuard.objects.select_for_update().get(pk=self.grader_id)


def _need_not_be_durable() -> None:
    """Commit without waiting for the disk, so that no process waits for it with the row locked.

    A server that crashes may lose the last changes, as Redis does.
    """
    if connection.vendor == "postgresql" and len(connection.atomic_blocks) == 1:  # a caller's transaction stays durable
        with connection.cursor() as cursor:
            cursor.execute("set local synchronous_commit to off")


def _at(state: GuardState, now: float) -> GuardState:
    return replace(state, at=max(now, state.at))
