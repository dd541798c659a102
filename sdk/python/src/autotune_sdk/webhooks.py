"""Verify webhooks that you receive: that Autotune sent them, unchanged and recently (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping

from . import _wire
from ._strictjson import BYTE_ORDER_MARK
from .errors import AutotuneError
from .models.webhooks import WebhookEvent

TOLERANCE_S = 300.0
PREFIX = "whsec_"


class WebhookRefused(AutotuneError):
    """The request's signature is invalid, or it is too old: respond with 400 and do nothing."""

    code = "webhook_refused"


def verify_webhook(
    headers: Mapping[str, str], body: bytes | str, secret: str, *, tolerance_s: float = TOLERANCE_S
) -> WebhookEvent:
    """Verify a request and return its event.

    headers  of the request; names in any case
    body     its bytes as received: parsing and encoding it again would change what was signed
    raises   WebhookRefused
    """
    headers_by_name = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent_at, signatures = (
            headers_by_name[f"webhook-{part}"] for part in ("id", "timestamp", "signature")
        )
    except KeyError as exc:
        raise WebhookRefused(f"the header {exc.args[0]} is missing") from None
    body_bytes = body.encode() if isinstance(body, str) else body
    if body_bytes.startswith(BYTE_ORDER_MARK):
        raise WebhookRefused(
            "the body begins with a byte-order mark (EF BB BF) that was not sent: pass the body unchanged"
        )
    if not sent_at.isascii() or not sent_at.isdigit():
        raise WebhookRefused("webhook-timestamp is not a number")
    if abs(time.time() - int(sent_at[:12])) > tolerance_s:
        raise WebhookRefused(f"webhook-timestamp is more than {tolerance_s:g} s off")
    expected = _signature(secret, f"{message_id}.{sent_at}.".encode() + body_bytes)
    candidates = [
        value for version, _, value in (entry.partition(",") for entry in signatures.split(" ")) if version == "v1"
    ]
    if not any(hmac.compare_digest(expected.encode(), value.encode()) for value in candidates):
        raise WebhookRefused("no signature matches the secret and the body")
    return _wire.decode(WebhookEvent, {**json.loads(body_bytes), "id": message_id})


def _signature(secret: str, signed: bytes) -> str:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise WebhookRefused("the secret is not whsec_ and base64") from None
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
