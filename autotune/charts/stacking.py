"""Draws stacked columns over time."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from autotune.charts.axes import framed, time_axis, time_places, value_axis
from autotune.charts.figures import NARROW, SERIES, TONES, Chart, Drawing, Table, colour, drawn, legend, nothing
from autotune.charts.scales import AxisScale, amounts, aware, nice_ticks
from autotune.charts.svg import element, isolated, titled
from autotune.charts.times import fitted, moments, named_moment, time_header
from autotune.charts.units import AxisUnit, axis_unit, measure

HEIGHT, NARROW_HEIGHT = 240, 210
COLUMNS = 400  # more would be thinner than a pixel
LEAST_WIDTH, LEAST_HEIGHT = 2.0, 1.5  # units: a single failure among thousands stays visible

Stack = tuple[datetime, Sequence[float]]


def columns(
    title: str, stacks: Sequence[Stack], names: Sequence[str], *, axis: str = "", unit: str = "",
    since: datetime | None = None, until: datetime | None = None, tones: Sequence[str] = (), wide: bool = True,
    empty: str = "Nothing in this time.",
) -> Chart:  # fmt: skip
    """Draw one column per time, made of one amount per name, the first at the foot.

    stacks  (when the column's time begins, amounts in the order of `names`); equally far apart, but some may be missing
    axis    what the amounts are, without it the title
    since   where the axis begins, and `until` where it ends; if only a part of this time has amounts, that part
    tones   one per name: neutral, good, warn or bad; without them each name has a colour of its own
    """
    _check(stacks, names, tones)
    aware(edge for edge in (since, until) if edge)
    stacks = [stack for stack in stacks if (since is None or stack[0] >= since) and (until is None or stack[0] < until)]
    scale = axis_unit([sum(amounts_) for _, amounts_ in stacks], unit)
    headers = (time_header(), *names)
    if not any(amount for _, amounts_ in stacks for amount in amounts_):
        return nothing(title, empty, headers, wide=wide)
    step = _step(sorted(time for time, _ in stacks))
    drawn_stacks, step, merge_count = _merged(sorted(stacks, key=lambda stack: stack[0]), step)
    colours = [f"chart-tone-{tone}" for tone in tones] or list(map(colour, range(len(names))))
    begin, end = since or drawn_stacks[0][0], until or drawn_stacks[-1][0] + step
    times = [time for time, amounts_ in drawn_stacks if any(amounts_)]
    begin, end, part = fitted(min(times), min(max(times) + step, end), begin, end, step)
    drawn_stacks = [stack for stack in drawn_stacks if begin <= stack[0] < end]
    plot = _Plot(drawn_stacks, names, colours, step, begin, end, scale, axis or title)
    summary = f"{_summary(drawn_stacks, names, unit)} {part}".strip()
    note = f"Each row is the sum of {merge_count} columns." if merge_count > 1 else ""
    table = _table(headers, drawn_stacks, step, scale, note)
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide, legend(names, colours))


def _table(
    headers: tuple[str, ...], drawn_stacks: Sequence[Stack], step: timedelta, scale: AxisUnit, note: str
) -> Table:
    """Return the amounts as a table; the place of a row is the middle of its column."""
    times = [time for time, _ in drawn_stacks]
    rows = [
        (text, *map(scale.written, amounts_)) for text, (_, amounts_) in zip(moments(times), drawn_stacks, strict=True)
    ]
    return Table(headers, rows, note, [(time + step / 2).timestamp() for time in times])


def _check(stacks: Sequence[Stack], names: Sequence[str], tones: Sequence[str]) -> None:
    if not 0 < len(names) <= SERIES:
        raise ValueError(f"{len(names)} names: 1 to {SERIES} can be distinguished")
    if tones and (len(tones) != len(names) or not set(tones) <= set(TONES)):
        raise ValueError("each name has one tone of neutral, good, warn and bad")
    aware(time for time, _ in stacks)
    for _, amounts_ in stacks:
        if len(amounts_) != len(names):
            raise ValueError("a column has another number of amounts than there are names")
        amounts(amounts_, "column's amount")


def _step(times: Sequence[datetime]) -> timedelta:
    """Return the time that one column covers: the least distance between two."""
    gaps = [later - earlier for earlier, later in pairwise(times) if later > earlier]
    return min(gaps, default=timedelta(hours=1))


def _merged(stacks: Sequence[Stack], step: timedelta) -> tuple[list[Stack], timedelta, int]:
    """Merge neighbours into at most COLUMNS stacks, each of which is their sum."""
    first = stacks[0][0]
    merge_count = math.ceil((int((stacks[-1][0] - first) / step) + 1) / COLUMNS)
    sums: dict[int, list[float]] = {}
    for time, amounts_ in stacks:
        place = int((time - first) / (step * merge_count))
        sums[place] = [a + b for a, b in zip(sums[place], amounts_, strict=True)] if place in sums else list(amounts_)
    return [(first + place * step * merge_count, sums[place]) for place in sums], step * merge_count, merge_count


def _summary(drawn_stacks: Sequence[Stack], names: Sequence[str], unit: str) -> str:
    totals = [sum(amounts_[at] for _, amounts_ in drawn_stacks) for at in range(len(names))]
    peak_time, peak = max(drawn_stacks, key=lambda stack: sum(stack[1]))
    totals_text = "; ".join(
        f"{isolated(name, 24)} {measure(total, unit)}" for name, total in zip(names, totals, strict=True)
    )
    return f"{totals_text}; most at {named_moment(peak_time)}: {measure(sum(peak), unit)}."


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    stacks: Sequence[Stack]
    names: Sequence[str]
    colours: Sequence[str]
    step: timedelta
    since: datetime
    until: datetime
    scale: AxisUnit
    axis: str

    def draw(self, width: int) -> Drawing:
        height = NARROW_HEIGHT if width == NARROW else HEIGHT
        ticks, name = self._ticks(), self.scale.header(self.axis)
        frame = framed(width, height, ticks, name=name)
        across = AxisScale(self.since.timestamp(), self.until.timestamp(), frame.left, frame.right)
        up = AxisScale(0, ticks[-1] * self.scale.divisor, frame.bottom, frame.top)
        body = value_axis(frame, ticks, name=name) + time_axis(frame, self.since, self.until)
        for time, stack in self.stacks:
            body += self._column(time, stack, across, up)
        places = time_places(frame, self.since, self.until) | {"data_colours": ",".join(self.colours)}
        return Drawing(width, height, body, attributes=places)

    def _ticks(self) -> list[float]:
        highest = max(sum(stack) for _, stack in self.stacks) / self.scale.divisor
        whole = self.scale.divisor == 1 and all(float(a).is_integer() for _, stack in self.stacks for a in stack)
        return nice_ticks(0, highest, 4, whole=whole)

    def _column(self, at: datetime, stack: Sequence[float], across: AxisScale, up: AxisScale) -> str:
        """Draw one column, with its amounts as a tooltip."""
        left, right = across(at.timestamp()), min(across((at + self.step).timestamp()), across.end)
        gap = min(2.0, (right - left) * 0.2)
        parts = [
            element(
                "rect",
                x=left + gap / 2,
                y=min(up(top), up(foot) - LEAST_HEIGHT),
                width=max(right - left - gap, LEAST_WIDTH),
                height=max(up(foot) - up(top), LEAST_HEIGHT),
                class_=f"chart-fill {self.colours[place]}",
            )
            for place, foot, top in _pieces(stack)
        ]
        amounts_text = "; ".join(
            f"{isolated(n, 24)} {self.scale.written(a)}" for n, a in zip(self.names, stack, strict=True)
        )
        return titled("g", f"{named_moment(at)}: {amounts_text}", "".join(parts)) if parts else ""


def _pieces(stack: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """Yield (place, foot, top) of each amount above zero."""
    foot = 0.0
    for place, amount in enumerate(stack):
        if amount > 0:
            yield place, foot, foot + amount
        foot += amount
