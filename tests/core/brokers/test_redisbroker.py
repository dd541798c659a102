"""Celery's Redis transport bears that Redis goes away under messages that are not acknowledged yet."""

from types import SimpleNamespace

import pytest
from django.conf import settings
from kombu import Connection

from autotune.core.brokers import redis_transport


def test_the_addresses_of_redis_mean_our_transport():
    for scheme in ("redis", "rediss"):
        assert Connection(f"{scheme}://127.0.0.1:1/0").get_transport_cls() is redis_transport.RedisTransport


@pytest.fixture
def connection():
    with Connection(settings.REDIS_URL) as connection:
        yield connection


def unacknowledged(connection):
    """A message that was taken and is not acknowledged, with its channel's bookkeeping."""
    queue = connection.SimpleQueue("autotune-test-redisbroker")
    queue.clear()
    queue.put({"grader": "g"})
    message = queue.get(timeout=5)
    return queue, message


@pytest.mark.redis
def test_an_acknowledgement_over_a_lost_connection_is_dropped(connection):
    queue, message = unacknowledged(connection)
    channel = message.channel
    real, channel.connection = channel.connection, SimpleNamespace(client=None)
    try:
        message.ack()
    finally:
        channel.connection = real
    queue.close()


@pytest.mark.redis
def test_nothing_is_put_back_when_a_connection_ends(connection):
    queue, message = unacknowledged(connection)
    assert message.channel.client.hexists("unacked", message.delivery_tag)
    message.channel.qos.restore_unacked()
    assert not message.channel.qos._delivered
    assert message.channel.client.llen(queue.queue.name) == 0
    queue.close()


@pytest.mark.redis
def test_messages_are_acknowledged_while_redis_is_available(connection):
    queue, message = unacknowledged(connection)
    message.ack()
    assert message.acknowledged
    assert not message.channel.client.hexists("unacked", message.delivery_tag)
    queue.close()
