"""A signed request as a web framework hands it over, and the secret of the webhook."""

import json
import time
from dataclasses import dataclass

from standardwebhooks.webhooks import Webhook


@dataclass
class Request:
    headers: dict[str, str]
    body: bytes


secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
_body = json.dumps({"event": "webhook.test", "data": {"message": "hello"}, "timestamp": "2026-11-28T01:02:03.456Z"})
_id, _now = "evt_1", time.time()
_signature = Webhook(secret).sign(
    _id, __import__("datetime").datetime.fromtimestamp(_now, __import__("datetime").UTC), _body
)
request = Request(
    {"webhook-id": _id, "webhook-timestamp": str(int(_now)), "webhook-signature": _signature}, _body.encode()
)
