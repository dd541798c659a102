"""Draws histograms, in which a person can select a range."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from autotune.charts.axes import Frame, framed, share_axis, value_axis
from autotune.charts.figures import NARROW, Chart, Drawing, Table, drawn, nothing
from autotune.charts.scales import NBSP, AxisScale, amounts, exact, finite, inner_ticks, nice_ticks, short
from autotune.charts.svg import element, linked, titled
from autotune.core.pages import formats

HEIGHT, NARROW_HEIGHT = 220, 200
MOST = 100  # buckets; the usual number is 10 to 50
LEAST_BAR = 1.5  # units: one score among a million stays visible


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The 25th, 50th and 75th percentile of values."""

    low: float
    median: float
    high: float


def histogram(
    title: str, counts: Sequence[int], *, low: float = 0.0, high: float = 1.0,
    chosen: tuple[float, float] | None = None, quartiles: Quartiles | None = None, links: Sequence[str] | None = None,
    brush: str | None = None, noun: str = "scores", wide: bool = False, empty: str = "No scores in this time.",
) -> Chart:  # fmt: skip
    """Draw a histogram of counts in buckets of equal width from `low` to `high`.

    chosen  the range that a filter keeps; the buckets outside it are faint
    quartiles  the exact ones of the chosen values
    links   one address per bucket, which filters to it
    brush   prefix of two inputs' ids: a range drawn across the buckets sets `<brush>-min` and `<brush>-max`
    noun    what is counted
    """
    _check(counts, low, high, chosen, links)
    headers = ("From", "To", noun.capitalize())
    if not any(counts):
        return nothing(title, empty, headers, wide=wide)
    edges = [low + (high - low) * place / len(counts) for place in range(len(counts) + 1)]
    table = Table(headers, [(exact(a), exact(b), exact(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False)])
    summary = _summary(counts, low, high, chosen, noun, quartiles)
    plot = _Plot(counts, edges, chosen, links, brush, noun)
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide)


def _check(
    counts: Sequence[int], low: float, high: float, chosen: tuple[float, float] | None, links: Sequence[str] | None
) -> None:
    finite((low, high, *(chosen or ())), "bound")
    amounts(counts)
    if low >= high or len(counts) > MOST or (chosen and chosen[0] > chosen[1]):
        raise ValueError(f"a histogram has a range and up to {MOST} buckets")
    if links is not None and len(links) != len(counts):
        raise ValueError("each bucket has one link")


def median_text(counts: Sequence[int], low: float, high: float, quartiles: Quartiles | None) -> str:
    """Return the median as the figures of the pages show it, or `0.55 to 0.6`, the bucket in which it lies."""
    if quartiles is not None:
        return formats.score(quartiles.median)
    begin, end = _bucket(counts, low, high, 0.5)
    return f"{short(begin[0])} to {short(end[1])}"


def spread_text(counts: Sequence[int], low: float, high: float, quartiles: Quartiles | None) -> str:
    """Describe the middle of the distribution: `half between 0.400 and 0.900`, or what the buckets say of it."""
    if quartiles is not None:
        return f"half between {formats.score(quartiles.low)} and {formats.score(quartiles.high)}"
    lowest, highest = (_bucket(counts, low, high, share) for share in (0.1, 0.9))
    return f"at least 80{NBSP}% between {short(lowest[0][0])} and {short(highest[1][1])}"


def _bucket(
    counts: Sequence[int], low: float, high: float, share: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the edges of the buckets that hold the two values beside a quantile; mostly it is one bucket."""
    ends = list(accumulate(counts))
    rank = share * (ends[-1] - 1)
    places = (bisect_right(ends, math.floor(rank)), bisect_right(ends, math.ceil(rank)))
    width = (high - low) / len(counts)
    first, second = ((low + width * place, low + width * (place + 1)) for place in places)
    return first, second


def _summary(
    counts: Sequence[int], low: float, high: float, chosen: tuple[float, float] | None, noun: str,
    quartiles: Quartiles | None,
) -> str:  # fmt: skip
    of = " of the chosen" if chosen and quartiles else ""
    total = f"{short(sum(counts))} {noun}{' in all' if of else ''}"
    middle = f"Median{of} {median_text(counts, low, high, quartiles)}; {spread_text(counts, low, high, quartiles)}"
    end = f" Chosen: {exact(chosen[0])} to {exact(chosen[1])}." if chosen else ""
    return f"{middle}; {total}.{end}"


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    counts: Sequence[int]
    edges: Sequence[float]
    chosen: tuple[float, float] | None
    links: Sequence[str] | None
    brush: str | None
    noun: str

    def draw(self, width: int) -> Drawing:
        height = NARROW_HEIGHT if width == NARROW else HEIGHT
        ticks = nice_ticks(0, max(self.counts), 4, whole=True)
        name = self.noun.capitalize()
        frame = framed(width, height, ticks, name=name)
        across = AxisScale(self.edges[0], self.edges[-1], frame.left, frame.right)
        up = AxisScale(0, ticks[-1], frame.bottom, frame.top)
        marks = inner_ticks(across.low, across.high, 5)
        body = (
            self._range(frame, across)
            + value_axis(frame, ticks, name=name)
            + share_axis(frame, marks, across, grid=False)
        )
        body += "".join(self._bucket(at, frame, across, up) for at in range(len(self.counts)))
        role = "group" if self.links or self.brush else "img"
        return Drawing(width, height, body, role, self._for_brush(frame) if self.brush else {})

    def _range(self, frame: Frame, across: AxisScale) -> str:
        """Draw the ground behind the chosen buckets; without a choice it has no width, for the brush to move."""
        if not (self.chosen or self.brush):
            return ""
        left, right = (min(max(across(v), frame.left), frame.right) for v in self.chosen or (across.low, across.low))
        return element(
            "rect", x=left, y=frame.top, width=right - left, height=frame.bottom - frame.top, class_="chart-range"
        )

    def _bucket(self, at: int, frame: Frame, across: AxisScale, up: AxisScale) -> str:
        """Draw one bar, on a ground of full height that is easier to hit."""
        left, right, count = across(self.edges[at]), across(self.edges[at + 1]), self.counts[at]
        gap = min(2.0, (right - left) * 0.15)
        tall = max(frame.bottom - up(count), LEAST_BAR) if count else 0
        shade = "" if self._is_chosen(at) else " chart-outside"
        bar = (
            element(
                "rect",
                x=left + gap / 2,
                y=frame.bottom - tall,
                width=right - left - gap,
                height=tall,
                class_=f"chart-bar{shade}",
            )
            if count
            else ""
        )
        ground = element(
            "rect", x=left, y=frame.top, width=right - left, height=frame.bottom - frame.top, class_="chart-target"
        )
        title = f"{exact(self.edges[at])} to {exact(self.edges[at + 1])}: {exact(count)} {self.noun}"
        return linked(self.links[at] if self.links else "", titled("g", title, ground + bar))

    def _is_chosen(self, at: int) -> bool:
        if self.chosen is None:
            return True
        middle = (self.edges[at] + self.edges[at + 1]) / 2
        return self.chosen[0] <= middle <= self.chosen[1]

    def _for_brush(self, frame: Frame) -> dict[str, str | float]:
        """Return what `brush.js` needs: which inputs, which values, and their places in the drawing."""
        low, high = self.chosen or ("", "")
        return {
            "data_brush_min": f"{self.brush}-min", "data_brush_max": f"{self.brush}-max",
            "data_low": repr(self.edges[0]), "data_high": repr(self.edges[-1]), "data_buckets": str(len(self.counts)),
            "data_from": str(low), "data_to": str(high), "data_left": frame.left, "data_right": frame.right,
            "data_top": frame.top, "data_bottom": frame.bottom,
        }  # fmt: skip
