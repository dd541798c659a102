"""Frozen dataclasses of the API's responses about webhooks, and of received events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from typing import Any

from .. import _secret_files


@dataclass(frozen=True)
class Webhook:
    """A webhook. In lists the values of the URL's query are masked. status: 'active' or 'disabled'."""

    id: str
    url: str | None
    events: tuple[str, ...]
    description: str | None
    status: str
    disabled_reason: str | None
    failing_since: datetime | None
    previous_valid_until: datetime | None
    created_by: str
    created_at: datetime
    updated_at: datetime
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class WebhookRegistration:
    """A webhook with its new secret, which is shown once; None if none was created."""

    webhook: Webhook
    secret: str | None = field(repr=False)

    def save_secret(self, path: str | PathLike[str]) -> None:
        """Write the secret to a file that only you can read. Raises NoSecret if the response has none."""
        _secret_files.save(path, self.secret)


@dataclass(frozen=True)
class DeliveryTry:
    """One delivery attempt. `status` is None without a response; `error` says why it failed."""

    at: datetime
    status: int | None
    latency_ms: float | None
    error: str | None
    excerpt: str | None


@dataclass(frozen=True)
class Delivery:
    """The delivery of one event to one webhook. status: 'pending', 'delivered' or 'parked' (given up).

    attempts  number of attempts started; `tries` holds the last ten that ended, the newest first
    """

    id: str
    event_id: str
    event: str
    status: str
    attempts: int
    tries: tuple[DeliveryTry, ...]
    next_attempt_at: datetime | None
    created_at: datetime
    ended_at: datetime | None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class WebhookEvent:
    """A verified event. `id` is the same for every attempt, so you can skip an event that you have already handled."""

    id: str
    event: str
    data: dict[str, Any]
    timestamp: datetime
