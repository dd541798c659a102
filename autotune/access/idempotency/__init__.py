"""Idempotency keys: a POST that is repeated with its key gets the response of the first request.

The response is stored in the transaction of the work itself, so that a crash leaves both or neither. Only a success is
stored: an error rolls the work back, and a repeated request runs it again. Scope: organization and route.
"""

from autotune.access.idempotency.answers import KEPT, REPLAYED, RESERVED, clean, forget, in_flight
from autotune.access.idempotency.keyed_requests import HEADER, META_NAME, KeyedRequest, key_of
from autotune.access.idempotency.repeats import once

__all__ = [
    "HEADER",
    "KEPT",
    "META_NAME",
    "REPLAYED",
    "RESERVED",
    "KeyedRequest",
    "clean",
    "forget",
    "in_flight",
    "key_of",
    "once",
]
