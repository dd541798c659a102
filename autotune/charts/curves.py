"""Draws lines over time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from autotune.charts.axes import Frame, framed, time_axis, time_places, value_axis
from autotune.charts.figures import NARROW, SERIES, Chart, Drawing, Table, colour, drawn, legend, nothing
from autotune.charts.scales import AxisScale, aware, finite, nice_ticks
from autotune.charts.svg import breadth, element, isolated, label, titled
from autotune.charts.thinning import Point, thinned
from autotune.charts.times import fitted, moments, named_moment, time_header
from autotune.charts.units import AxisUnit, axis_unit, measure

HEIGHT, NARROW_HEIGHT = 260, 220
NAME_ROOM, NAME_SHARE = 130, 0.3  # for names at the ends of lines: units at least, a part of the breadth at most
NAME_MARGIN = 24  # the dot before a name, and the air around both
APART = 16  # between two names
POINTED = 120  # up to so many points say their value when pointed at
DOT = 4  # radius of a point without neighbours, which no line shows
PARTS = 30  # of the time, of which a value is supposed to cover one if nothing says how far values are apart
FROM_ZERO = 0.5  # a lowest value below this share of the highest: the axis begins at 0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name and its (moment, value) in any order; None is a gap.

    slot  its place among the colours, where that must be the same in several charts; else its place in this one
    """

    name: str
    points: Sequence[Point]
    slot: int | None = None


def lines(
    title: str, series: Sequence[Series], *, since: datetime, until: datetime, axis: str = "", unit: str = "",
    low: float | None = None, high: float | None = None, wide: bool = True, empty: str = "No values in this time.",
) -> Chart:  # fmt: skip
    """Draw up to six lines from `since` to `until`, or in the part of this time that has values.

    axis   what the values are, without it the title
    unit   of all values; `ms` and `score` are written as `autotune.charts.units` says
    low    the lowest value of the axis, and `high` the highest; without them it fits the values
    """
    if len(series) > SERIES:
        raise ValueError(f"{len(series)} series: at most {SERIES} can be distinguished")
    full_series = [_within(line, since, until) for line in series]
    values = [value for line in full_series for _, value in _measured_points(line)]
    scale = axis_unit(values, unit)
    headers = (time_header(), *(line.name for line in series))
    if not values:
        return nothing(title, empty, headers, wide=wide)
    times = [time for line in full_series for time, _ in _measured_points(line)]
    since, until, part = fitted(min(times), max(times), since, until, _step(full_series, until - since))
    drawn_series = [replace(line, points=thinned(_cut(line, since, until), since, until)) for line in full_series]
    table = _table(headers, drawn_series, scale, _thinning_note(full_series, drawn_series))
    colours = [colour(place if line.slot is None else line.slot) for place, line in enumerate(drawn_series)]
    plot = _Plot(drawn_series, colours, _ticks(values, low, high, scale), since, until, scale, axis or title)
    summary = f"{_summary(drawn_series, unit)} {part}".strip()
    keys = legend([line.name for line in drawn_series], colours, even_one=drawn_series[0].slot is not None)
    svg = drawn(title, summary, plot.draw, wide=wide)
    return Chart(title, summary, svg, table, wide, keys, labelled=len(keys) > 1)


def _within(series: Series, since: datetime, until: datetime) -> Series:
    """Return the points from `since` to `until`, ordered by time."""
    aware((since, until, *(time for time, _ in series.points)))
    if since >= until:
        raise ValueError("the time ends before it begins")
    finite(value for _, value in series.points if value is not None)
    return replace(series, points=sorted(_cut(series, since, until), key=lambda point: point[0]))


def _cut(series: Series, since: datetime, until: datetime) -> list[Point]:
    return [(time, value) for time, value in series.points if since <= time <= until]


def _step(full_series: Sequence[Series], span: timedelta) -> timedelta:
    """Return the least distance between two neighbours, gaps included."""
    times = sorted({time for line in full_series for time, _ in line.points})
    return min((later - earlier for earlier, later in pairwise(times)), default=span / PARTS)


def _ticks(values: Sequence[float], low: float | None, high: float | None, scale: AxisUnit) -> list[float]:
    """Return the ticks of the axis, in the unit of the axis."""
    least, most = min(values) / scale.divisor, max(values) / scale.divisor
    if 0 <= least < FROM_ZERO * most:
        least = 0.0
    least, most = least if low is None else min(low, least), most if high is None else max(high, most)
    return nice_ticks(least, most, 4)


def _thinning_note(full_series: Sequence[Series], drawn_series: Sequence[Series]) -> str:
    before, after = sum(len(line.points) for line in full_series), sum(len(line.points) for line in drawn_series)
    if before == after:
        return ""
    return f"{after:,} of {before:,} points: the lowest and the highest of each short time."


def _table(headers: tuple[str, ...], drawn_series: Sequence[Series], scale: AxisUnit, note: str) -> Table:
    columns = [dict(line.points) for line in drawn_series]
    times = sorted(set().union(*columns))
    texts = moments(times, seconds=any(time.second or time.microsecond for time in times))
    rows = [
        (text, *(_cell(column.get(time), scale) for column in columns)) for time, text in zip(times, texts, strict=True)
    ]
    return Table(headers, rows, note, [time.timestamp() for time in times])


def _cell(value: float | None, scale: AxisUnit) -> str:
    return "–" if value is None else scale.written(value)


def _summary(drawn_series: Sequence[Series], unit: str) -> str:
    """Describe one line by its range and last value, several lines by their last values."""
    ends = [(line.name, time, value) for line in drawn_series for time, value in _measured_points(line)[-1:]]
    if len(drawn_series) > 1:
        latest = "; ".join(f"{isolated(name, 24)} {measure(value, unit)}" for name, _, value in ends)
        return f"Latest: {latest}."
    values = [value for _, value in _measured_points(drawn_series[0])]
    _, last_time, last_value = ends[0]
    latest = f"Latest {measure(last_value, unit)} at {named_moment(last_time)}"
    if min(values) == max(values):
        return f"{latest}{', the only value' if len(values) == 1 else '; all values are equal'} in this time."
    return f"{latest}; between {measure(min(values), unit)} and {measure(max(values), unit)} in this time."


def _measured_points(series: Series) -> list[tuple[datetime, float]]:
    return [(time, value) for time, value in series.points if value is not None]


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    series: Sequence[Series]
    colours: Sequence[str]
    ticks: Sequence[float]
    since: datetime
    until: datetime
    scale: AxisUnit
    axis: str

    def draw(self, width: int) -> Drawing:
        narrow = width == NARROW
        height = NARROW_HEIGHT if narrow else HEIGHT
        has_names = len(self.series) > 1 and not narrow
        room = _name_room(self.series, width) if has_names else 16
        name = self.scale.header(self.axis)
        frame = framed(width, height, self.ticks, name=name, right=room)
        runs = [self._runs(line, frame) for line in self.series]
        body = value_axis(frame, self.ticks, name=name) + time_axis(frame, self.since, self.until)
        body += "".join(map(_line, runs, self.colours))
        if sum(len(line.points) for line in self.series) <= POINTED:
            body += "".join(map(self._targets, self.series, runs))
        if has_names:
            body += _names(
                [
                    (line.name, run[-1][-1], colour_)
                    for line, colour_, run in zip(self.series, self.colours, runs, strict=True)
                    if run
                ],
                frame,
                room,
            )
        return Drawing(width, height, body, attributes=self._for_cross(frame))

    def _for_cross(self, frame: Frame) -> dict[str, str | float]:
        """Return what `crosshair.js` needs to place the values of the table in the drawing."""
        return time_places(frame, self.since, self.until) | {
            "data_low": repr(self.ticks[0]), "data_high": repr(self.ticks[-1]), "data_colours": ",".join(self.colours),
        }  # fmt: skip

    def _runs(self, series: Series, frame: Frame) -> list[list[tuple[float, float]]]:
        """Return the places of the points, in runs without a gap."""
        across = AxisScale(self.since.timestamp(), self.until.timestamp(), frame.left, frame.right)
        up = AxisScale(self.ticks[0], self.ticks[-1], frame.bottom, frame.top)
        runs: list[list[tuple[float, float]]] = [[]]
        for time, value in series.points:
            if value is not None:
                runs[-1].append((across(time.timestamp()), up(value / self.scale.divisor)))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]

    def _targets(self, series: Series, runs: list[list[tuple[float, float]]]) -> str:
        """Draw invisible circles that show a point's value as a tooltip."""
        places = [point for run in runs for point in run]
        titles = (
            f"{isolated(series.name)} {named_moment(time)}: {self.scale.written(value)}"
            for time, value in _measured_points(series)
        )
        return "".join(
            titled("circle", title, cx=x, cy=y, r=7, class_="chart-target")
            for (x, y), title in zip(places, titles, strict=True)
        )


def _line(runs: list[list[tuple[float, float]]], series: str) -> str:
    """Draw one path for all runs; a point with a gap on both sides is a dot."""
    path = "".join(f"M{'L'.join(f'{x:.1f} {y:.1f}' for x, y in run)}" for run in runs if len(run) > 1)
    dots = "".join(
        element("circle", cx=x, cy=y, r=DOT, class_=f"chart-dot {series}") for (x, y), *more in runs if not more
    )
    return (element("path", d=path, class_=f"chart-line {series}") if path else "") + dots


def _name_room(drawn_series: Sequence[Series], width: int) -> float:
    """Return the room that the longest name needs, within bounds: names of models often differ only at their ends."""
    return min(width * NAME_SHARE, max(NAME_ROOM, NAME_MARGIN + max(breadth(line.name) for line in drawn_series)))


def _names(ends: Sequence[tuple[str, tuple[float, float], str]], frame: Frame, room: float) -> str:
    """Draw each line's name beside its last point, moved up or down if two would touch."""
    ordered = sorted(ends, key=lambda end: end[1][1])
    heights: list[float] = []
    for _, (_, y), _ in ordered:
        heights.append(max(y, heights[-1] + APART) if heights else y)
    for at in range(len(heights) - 1, -1, -1):  # move names below the foot up again
        heights[at] = min(heights[at], frame.bottom - 2 if at == len(heights) - 1 else heights[at + 1] - APART)
    x = frame.right + 8
    return "".join(
        element("circle", cx=x + 4, cy=y, r=4, class_=f"chart-dot {series}")
        + label(name, x + 13, y + 4, room - NAME_MARGIN)
        for (name, _, series), y in zip(ordered, heights, strict=True)
    )
