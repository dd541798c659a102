"""Draws a strip of successes and failures that is as small as a word."""

from collections.abc import Sequence

from django.utils.safestring import SafeString

from autotune.charts.svg import element

STEP, BAR, HEIGHT, LOW = 4, 3, 16, 10


def strip(outcomes: Sequence[bool], *, label: str) -> SafeString:
    """Draw a bar for each outcome, the oldest first. A failure is taller, so that it can be seen without colour.

    `label` must describe the outcomes in words, because a strip has no table.
    """
    width = max(STEP * len(outcomes) - (STEP - BAR), BAR)
    bars = "".join(_bar(at, passed) for at, passed in enumerate(outcomes))
    return element(
        "svg", bars, class_="chart-strip", viewBox=f"0 0 {width} {HEIGHT}", width=width, height=HEIGHT, role="img",
        aria_label=label,
    )  # fmt: skip


def _bar(at: int, passed: bool) -> str:
    height = LOW if passed else HEIGHT
    return element(
        "rect", x=at * STEP, y=HEIGHT - height, width=BAR, height=height, rx=1,
        class_=f"chart-fill chart-tone-{'good' if passed else 'bad'}",
    )  # fmt: skip
