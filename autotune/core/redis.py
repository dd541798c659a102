"""Access to Redis, which is optional: its data may vanish, and every use defines what happens without it."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from django.conf import settings

logger = logging.getLogger(__name__)
T = TypeVar("T")
AWAY_S = 1.0  # no attempt for this long after a failure: an outage must not cost each request a timeout

_lock = threading.Lock()
_client: "redis.Redis | None" = None
_away_until = 0.0


def attempt(use: Callable[["redis.Redis"], Any], *, otherwise: T) -> Any | T:
    """Return the result of `use(client)`, or `otherwise` without REDIS_URL or while Redis is away."""
    global _away_until
    if not settings.REDIS_URL or time.monotonic() < _away_until:
        return otherwise
    try:
        return use(_connected())
    except redis.RedisError as exc:
        _away_until = time.monotonic() + AWAY_S
        logger.warning("Redis is away: %s", exc)
        return otherwise


def _connected() -> "redis.Redis":
    global _client
    with _lock:
        if _client is None:
            _client = redis.Redis.from_url(
                settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.2, health_check_interval=30
            )
        return _client
