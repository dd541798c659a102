"""The thresholds that rate a grader's success rate and its latency."""

import pytest

from graders.health import thresholds
from graders.health.thresholds import HealthRating
from graders.models import Grader


@pytest.mark.parametrize(
    ("scored", "errors", "rating"),
    [
        (0, 0, HealthRating()),
        (1, 0, HealthRating("good")),
        (0, 1, HealthRating("warn", "of only 1 attempt")),
        (0, 19, HealthRating("warn", "of only 19 attempts")),
        (0, 20, HealthRating("bad", "below 95 %")),
        (99, 1, HealthRating("good")),
        (98, 2, HealthRating("warn", "below 99 %")),
        (95, 5, HealthRating("warn", "below 99 %")),
        (94, 6, HealthRating("bad", "below 95 %")),
    ],
)
def test_the_success_rate_has_two_thresholds_and_few_attempts_only_warn(scored, errors, rating):
    assert thresholds.rate_success(scored, errors) == rating


@pytest.mark.parametrize(
    ("p99_ms", "rating"),
    [
        (None, HealthRating()),
        (1_999, HealthRating("good")),
        (2_000, HealthRating("warn", "over 50 % of 4.0 s")),
        (3_600, HealthRating("bad", "over 90 % of 4.0 s")),
        (900_000, HealthRating("bad", "over 90 % of 4.0 s")),
    ],
)
def test_the_99th_percentile_is_compared_with_the_timeout(p99_ms, rating):
    assert thresholds.rate_p99(p99_ms, 4_000) == rating


def test_full_success_does_not_hide_a_huge_latency():
    ratings = thresholds.ratings(1_000, 0, 29_000.0, 30_000)
    assert (ratings.success.tone, ratings.p99.tone) == ("good", "bad")


@pytest.mark.parametrize(
    ("limits", "limit_ms"),
    [
        ({"max_batch_size": 1}, 4_000),
        ({"max_batch_size": 2}, 30_000),
        ({"max_batch_size": 2, "batch_timeout_ms": 9_000}, 9_000),
    ],
)
def test_the_timeout_of_a_batch_counts_only_for_graders_that_take_batches(limits, limit_ms):
    assert thresholds.call_limit_ms(Grader(**limits)) == limit_ms
