"""Draws means with their intervals on one axis."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from autotune.charts.axes import share_axis
from autotune.charts.figures import NARROW, Chart, Drawing, Table, colour, drawn, nothing
from autotune.charts.rows import laid_out
from autotune.charts.scales import AxisScale, amounts, exact, finite, nice_ticks, short
from autotune.charts.svg import element, isolated, linked, own_address, titled
from autotune.core.pages import formats

ROW, FOOT = 32, 26
NARROW_SPAN = 0.5  # of [0, 1]: intervals that lie closer together get an axis of their own
CAP = 4


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, its interval [low, high], and the number of its values.

    href  the address of its link
    slot  its place among the colours
    """

    label: str
    mean: float
    low: float
    high: float
    count: int
    href: str = field(default="", kw_only=True)
    slot: int | None = field(default=None, kw_only=True)


def intervals(
    title: str, rows: Sequence[Interval], *, noun: str = "scores", wide: bool = False,
    empty: str = "No scores in this time.",
) -> Chart:  # fmt: skip
    """Draw dots with whiskers, in the order of `rows`. The axis is [0, 1], or a part of it that the summary names."""
    _check(rows)
    headers = ("Name", "Mean", "Low", "High", noun.capitalize())
    if not rows:
        return nothing(title, empty, headers, wide=wide)
    ticks = axis(rows)
    summary, plot = _summary(rows, ticks), _Plot(rows, ticks, noun)
    cells = [(row.label, *map(exact, (row.mean, row.low, row.high, row.count))) for row in rows]
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), Table(headers, cells), wide)


def _check(rows: Sequence[Interval]) -> None:
    for row in rows:
        finite((row.mean, row.low, row.high), "mean or bound")
        amounts((row.count,))
        if not row.low <= row.mean <= row.high:
            raise ValueError("a mean lies outside its interval")
        if row.href:
            own_address(row.href)


def axis(rows: Sequence[Interval]) -> list[float]:
    """Return the ticks of the axis: [0, 1] unless all lie within a small part of it, or something lies outside."""
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    if low >= 0 and high <= 1 and high - low >= NARROW_SPAN:
        return [0, 0.2, 0.4, 0.6, 0.8, 1]
    ticks = nice_ticks(low, high, 5)
    return [tick for tick in ticks if 0 <= tick <= 1] if low >= 0 and high <= 1 else ticks


def _summary(rows: Sequence[Interval], ticks: Sequence[float]) -> str:
    best = max(rows, key=lambda row: row.mean)
    low, high = formats.score(best.low), formats.score(best.high)
    interval_text = f"{isolated(best.label)} {formats.score(best.mean)} ({low} to {high})"
    part = "" if (ticks[0], ticks[-1]) == (0, 1) else f" The axis shows {short(ticks[0])} to {short(ticks[-1])} only."
    return f"{'Highest mean: ' if len(rows) > 1 else 'Mean of '}{interval_text}.{part}"


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    rows: Sequence[Interval]
    ticks: Sequence[float]
    noun: str

    def draw(self, width: int) -> Drawing:
        values = [formats.score(row.mean) for row in self.rows]
        notes = [
            "" if width == NARROW else f"{formats.score(row.low)} – {formats.score(row.high)}" for row in self.rows
        ]
        layout = laid_out(width, [row.label for row in self.rows], values, notes, mark=ROW if width != NARROW else 20)
        across = AxisScale(self.ticks[0], self.ticks[-1], layout.frame.left + 8, layout.frame.right - 8)
        body = share_axis(layout.frame, self.ticks, across)
        body += "".join(
            linked(
                row.href,
                self._whisker(row, layout.middle(at), across) + layout.words(at, row.label, notes[at], values[at]),
            )
            for at, row in enumerate(self.rows)
        )
        role = "group" if any(row.href for row in self.rows) else "img"
        return Drawing(width, layout.frame.bottom + FOOT, body, role)

    def _whisker(self, row: Interval, y: float, across: AxisScale) -> str:
        """Draw the interval as a line with ends and the mean as a dot, with the figures as a tooltip."""
        left, right = across(row.low), across(row.high)
        y, colour_ = round(y), "chart-tone-neutral" if row.slot is None else colour(row.slot)
        whisker = element(
            "path",
            d=f"M{left:.1f} {y - CAP}v{2 * CAP}M{left:.1f} {y}H{right:.1f}M{right:.1f} {y - CAP}v{2 * CAP}",
            class_=f"chart-whisker {colour_}",
        )
        target = element("rect", x=left - 6, y=y - 10, width=right - left + 12, height=20, class_="chart-target")
        dot = element("circle", cx=across(row.mean), cy=y, r=5, class_=f"chart-dot {colour_}")
        span = f"{exact(row.low)} to {exact(row.high)}"
        title = f"{isolated(row.label)}: {exact(row.mean)} ({span}), {exact(row.count)} {self.noun}"
        return titled("g", title, target + whisker + dot)
