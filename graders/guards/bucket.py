"""Rate: a token bucket in completions. In any minute at most `rate` and one capacity are taken."""

import math
from typing import Final

from graders.guards.state import Bucket

BURST_S: Final = 10.0  # the bucket holds what comes in so long
CHUNK_S: Final = 1.0  # who waits, waits for what comes in so long: a call each second rather than one for each token


def capacity(rate: int) -> int:
    """The most tokens that a bucket of `rate` a minute holds."""
    return max(1, int(rate * BURST_S / 60))


def take(bucket: Bucket | None, asked: int, *, rate: int, now: float) -> tuple[Bucket, int, float | None]:
    """Take up to `asked` tokens.

    returns  the bucket, how many were taken, and when the next ones are worth a call if that is fewer than asked
    """
    filled = _filled(bucket, rate, now)
    taken = min(asked, int(filled.tokens + 1e-9))
    left = Bucket(max(0.0, filled.tokens - taken), filled.at)
    if taken == asked:
        return left, taken, None
    worth = min(asked - taken, _chunk(rate))
    return left, taken, left.at + (worth - left.tokens) * 60 / rate


def give_back(bucket: Bucket | None, tokens: int, *, rate: int) -> Bucket | None:
    """Put back what was taken and not used."""
    if bucket is None:
        return None
    return Bucket(min(float(capacity(rate)), bucket.tokens + tokens), bucket.at)


def _filled(bucket: Bucket | None, rate: int, now: float) -> Bucket:
    """The bucket by now. A new one begins with a second's worth only, so that losing it gives no burst for nothing."""
    if bucket is None:
        return Bucket(float(_chunk(rate)), now)
    came = max(0.0, now - bucket.at) * rate / 60
    return Bucket(min(float(capacity(rate)), bucket.tokens + came), max(now, bucket.at))


def _chunk(rate: int) -> int:
    return min(capacity(rate), max(1, math.ceil(rate * CHUNK_S / 60)))
