"""Durations on pages are rounded to the nearest unit, so that 7 days are never shown as 6."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core.pages import formats

MINUTE, HOUR, DAY = 60, 3600, 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (89, "1 min"),
        (91, "2 min"),
        (HOUR - 1, "1 h"),
        (47.4 * HOUR, "47 h"),
        (47.6 * HOUR, "2 d"),
        (7 * DAY - 1, "7 d"),
        (7 * DAY, "7 d"),
        (59.4 * DAY, "59 d"),
        (59.6 * DAY, ""),
        (1e9, ""),
    ],
)
def test_a_span_is_rounded_to_its_unit(seconds, text):
    assert formats.span(seconds) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (16_100, "16.1 s"),
        (59_940, "59.9 s"),
        (59_960, "1 min"),
        (7 * DAY * 1000 - 1, "7 d"),
        (90 * DAY * 1000, "90 d"),
    ],
)
def test_a_duration_is_rounded_to_its_unit(milliseconds, text):
    assert formats.duration(milliseconds) == text


def test_a_review_that_is_due_in_seven_days_says_so():
    assert formats.ago(timezone.now() + timedelta(days=7) - timedelta(seconds=1)) == "in 7 d"
