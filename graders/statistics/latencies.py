"""Count latencies in log-spaced buckets: few enough to add up over any window, fine enough for percentiles.

Bucket i holds LOWEST_MS * GROWTH**i up to, but not including, LOWEST_MS * GROWTH**(i + 1). Only the bucket of a value
is stored, so a value that is read from a bucket is at most GROWTH - 1 = 5 % off. Bucket 0 takes all values below its
end, the last bucket (about 20 minutes) all values above its start.
"""

from collections.abc import Iterable, Mapping
from math import floor, log
from typing import Final

LOWEST_MS: Final = 0.1
GROWTH: Final = 1.05
LAST: Final = 334
_SCALE: Final = 1 / log(GROWTH)


def bucket(latency_ms: float) -> int:
    """Return the bucket of a latency, from 0 to LAST."""
    if latency_ms <= LOWEST_MS:
        return 0
    return min(int(log(latency_ms / LOWEST_MS) * _SCALE), LAST)


def counted(latencies_ms: Iterable[float]) -> dict[str, int]:
    """Return {bucket: count}; the buckets are strings, because JSON keys are."""
    counts: dict[str, int] = {}
    for latency_ms in latencies_ms:
        key = str(bucket(latency_ms))
        counts[key] = counts.get(key, 0) + 1
    return counts


def percentile(counts: Mapping[str, int], q: float) -> float | None:
    """Return the latency in ms at `q` (0..1), interpolated linearly between the nearest ranks; None without data."""
    ordered = sorted((int(key), count) for key, count in counts.items() if count > 0)
    total = sum(count for _, count in ordered)
    if not total:
        return None
    rank = q * (total - 1)
    below = floor(rank)
    low = _at_rank(ordered, below)
    if rank == below:
        return low
    return low + (rank - below) * (_at_rank(ordered, below + 1) - low)


def _at_rank(ordered: Iterable[tuple[int, int]], rank: int) -> float:
    """Return the value of this rank (from 0), as if a bucket's values were spread evenly over it."""
    seen = 0
    number = 0
    for number, count in ordered:
        if rank < seen + count:
            return LOWEST_MS * GROWTH ** (number + (rank - seen + 0.5) / count)
        seen += count
    return LOWEST_MS * GROWTH ** (number + 1)
