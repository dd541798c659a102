"""Celery's Redis transport for hints: it forgets the messages in progress when the connection to Redis is lost.

When a connection ends, kombu's own transport returns unacknowledged messages to the queue and acknowledges finished
ones. Both need the connection that is already lost, and fail in a way that Celery does not expect, which ends the
worker. A Redis that takes no writes, because its memory is full or it is a replica, counts as away: the worker
continues with the sweep, and reconnects until the broker works.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError

SCHEMES = ("redis", "rediss")
WRITE_TESTED, WRITE_TESTED_S = "autotune:broker:probed", 60


class RedisQoS(redis.QoS):
    """The acknowledgements of a channel, which need no connection once it is lost."""

    def restore_visible(self, *args: Any, **options: Any) -> None:
        """Do nothing: a message that was lost with its worker was only a hint, and the sweep finds the work."""

    def restore_unacked(self, client: Any = None) -> None:
        self._delivered.clear()  # type: ignore[union-attr]

    def ack(self, delivery_tag: Any) -> None:
        if getattr(self.channel.connection, "client", None) is None:
            self._quick_ack(delivery_tag)  # type: ignore[attr-defined]
        else:
            super().ack(delivery_tag)


class RedisChannel(redis.Channel):
    QoS = RedisQoS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.client.set(WRITE_TESTED, 1, ex=WRITE_TESTED_S)
        except (OutOfMemoryError, ReadOnlyError) as exc:  # here, where Celery waits before it connects again
            self.close()
            raise ConnectionError(f"Redis takes no writes: {exc}") from exc


class RedisTransport(redis.Transport):
    Channel = RedisChannel
    connection_errors = (*redis.Transport.connection_errors, OutOfMemoryError, ReadOnlyError)


def register() -> None:
    """Register this transport for `redis://` and `rediss://`."""
    for scheme in SCHEMES:
        TRANSPORT_ALIASES[scheme] = f"{__name__}:RedisTransport"
