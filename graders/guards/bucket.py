"""Rate limit: a token bucket that counts completions. In any minute at most `rate` + one capacity are taken."""

import math
from typing import Final

from graders.guards.state import TokenBucket

BURST_S: Final = 10.0  # the bucket holds the tokens of this many seconds
CHUNK_S: Final = 1.0  # a caller waits for the tokens of a second, so it calls each second rather than for each token


def capacity(rate: int) -> int:
    """Return how many tokens a bucket of `rate` tokens a minute can hold."""
    return max(1, int(rate * BURST_S / 60))


def take(bucket: TokenBucket | None, tokens: int, *, rate: int, now: float) -> tuple[TokenBucket, int, float | None]:
    """Take up to `tokens` tokens.

    returns  the bucket after it, the tokens granted, and when to call again if fewer than `tokens` were granted
    """
    filled = _filled(bucket, rate, now)
    granted = min(tokens, int(filled.tokens + 1e-9))
    bucket_after = TokenBucket(max(0.0, filled.tokens - granted), filled.at)
    if granted == tokens:
        return bucket_after, granted, None
    next_tokens = min(tokens - granted, _chunk(rate))
    return bucket_after, granted, bucket_after.at + (next_tokens - bucket_after.tokens) * 60 / rate


def give_back(bucket: TokenBucket | None, tokens: int, *, rate: int) -> TokenBucket | None:
    """Return tokens that were granted and not used to the bucket."""
    if bucket is None:
        return None
    return TokenBucket(min(float(capacity(rate)), bucket.tokens + tokens), bucket.at)


def _filled(bucket: TokenBucket | None, rate: int, now: float) -> TokenBucket:
    """Refill the bucket. A new one starts with the tokens of one second, so that a lost state allows no extra burst."""
    if bucket is None:
        return TokenBucket(float(_chunk(rate)), now)
    refill = max(0.0, now - bucket.at) * rate / 60
    return TokenBucket(min(float(capacity(rate)), bucket.tokens + refill), max(now, bucket.at))


def _chunk(rate: int) -> int:
    return min(capacity(rate), max(1, math.ceil(rate * CHUNK_S / 60)))
