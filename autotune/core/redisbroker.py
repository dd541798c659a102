"""Celery's Redis transport, for messages that are hints: what is under way when Redis goes is forgotten.

kombu's own puts unacknowledged messages back when a connection ends, and acknowledges finished ones when its loop does.
With Redis away both need a connection that is gone already, fail in a way that Celery does not expect, and so end the
worker.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis

SCHEMES = ("redis", "rediss")


class QoS(redis.QoS):
    """Knows when its connection is gone."""

    def restore_unacked(self, client: Any = None) -> None:
        self._delivered.clear()  # type: ignore[union-attr]

    def ack(self, delivery_tag: Any) -> None:
        if getattr(self.channel.connection, "client", None) is None:
            self._quick_ack(delivery_tag)  # type: ignore[attr-defined]
        else:
            super().ack(delivery_tag)


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


def register() -> None:
    """Let `redis://` and `rediss://` mean this transport."""
    for scheme in SCHEMES:
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
