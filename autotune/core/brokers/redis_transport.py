"""Celery's Redis transport, for messages that are hints: what is under way when Redis goes is forgotten.

kombu's own puts unacknowledged messages back when a connection ends, and acknowledges finished ones when its loop does.
With Redis away both need a connection that is gone already, fail in a way that Celery does not expect, and so end the
worker. A Redis that takes no writes, because its memory is full or it is a replica, counts as away: the worker goes on
with the sweep, and reconnects until the broker works.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError

SCHEMES = ("redis", "rediss")
PROBED, PROBED_S = "autotune:broker:probed", 60


class QoS(redis.QoS):
    """Knows when its connection is gone."""

    def restore_visible(self, *args: Any, **options: Any) -> None:
        """Do nothing: a message that was lost with its worker was only a hint, and the sweep finds the work."""

    def restore_unacked(self, client: Any = None) -> None:
        self._delivered.clear()  # type: ignore[union-attr]

    def ack(self, delivery_tag: Any) -> None:
        if getattr(self.channel.connection, "client", None) is None:
            self._quick_ack(delivery_tag)  # type: ignore[attr-defined]
        else:
            super().ack(delivery_tag)


class Channel(redis.Channel):
    QoS = QoS

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        try:
            self.client.set(PROBED, 1, ex=PROBED_S)
        except (OutOfMemoryError, ReadOnlyError) as exc:  # here, where Celery waits before it connects again
            self.close()
            raise ConnectionError(f"Redis takes no writes: {exc}") from exc


class Transport(redis.Transport):
    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, OutOfMemoryError, ReadOnlyError)


def register() -> None:
    """Let `redis://` and `rediss://` mean this transport."""
    for scheme in SCHEMES:
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
