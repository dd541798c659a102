"""Draws lines over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from autotune.charts.axes import Frame, framed, time_axis, value_axis
from autotune.charts.figures import NARROW, SERIES, Chart, Drawing, Table, colour, drawn, legend, nothing
from autotune.charts.scales import AxisScale, alike, aware, exact, finite, moment, nice_ticks, short, with_unit
from autotune.charts.svg import breadth, element, isolated, label, titled
from autotune.charts.thinning import Point, thinned

HEIGHT, NARROW_HEIGHT = 260, 220
NAME_ROOM, NAME_SHARE = 130, 0.3  # for names at the ends of lines: units at least, a part of the breadth at most
NAME_MARGIN = 24  # the dot before a name, and the air around both
APART = 16  # between two names
POINTED = 120  # up to so many points say their value when pointed at
FROM_ZERO = 0.5  # a lowest value below this share of the highest: the axis begins at 0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name and its (moment, value) in any order; None is a gap."""

    name: str
    points: Sequence[Point]


def lines(
    title: str, series: Sequence[Series], *, since: datetime, until: datetime, unit: str = "", low: float | None = None,
    high: float | None = None, wide: bool = True, empty: str = "No values in this time.",
) -> Chart:  # fmt: skip
    """Draw up to six lines from `since` to `until`.

    unit   of all values, such as `ms`
    low    the lowest value of the axis, and `high` the highest; without them it fits the values
    """
    if len(series) > SERIES:
        raise ValueError(f"{len(series)} series: at most {SERIES} can be distinguished")
    full_series = [_within(line, since, until) for line in series]
    drawn_series = [Series(line.name, thinned(line.points, since, until)) for line in full_series]
    headers = ("Time (UTC)", *(line.name for line in series))
    values = [value for line in drawn_series for _, value in line.points if value is not None]
    if not values:
        return nothing(title, empty, headers, wide=wide)
    ticks = _ticks(values, low, high)
    table = Table(headers, _rows(drawn_series), _thinning_note(full_series, drawn_series))
    plot = _Plot(drawn_series, ticks, since, until, unit)
    summary = _summary(drawn_series, unit)
    keys = legend([line.name for line in drawn_series], list(map(colour, range(len(drawn_series)))))
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide, keys, labelled=bool(keys))


def _within(series: Series, since: datetime, until: datetime) -> Series:
    """Return the points from `since` to `until`, ordered by time."""
    aware((since, until, *(time for time, _ in series.points)))
    if since >= until:
        raise ValueError("the time ends before it begins")
    finite(value for _, value in series.points if value is not None)
    return Series(series.name, sorted((p for p in series.points if since <= p[0] <= until), key=lambda p: p[0]))


def _ticks(values: Sequence[float], low: float | None, high: float | None) -> list[float]:
    least, most = min(values), max(values)
    if 0 <= least < FROM_ZERO * most:
        least = 0.0
    least, most = least if low is None else min(low, least), most if high is None else max(high, most)
    return nice_ticks(least, most, 4)


def _thinning_note(full_series: Sequence[Series], drawn_series: Sequence[Series]) -> str:
    before, after = sum(len(line.points) for line in full_series), sum(len(line.points) for line in drawn_series)
    if before == after:
        return ""
    return f"{after:,} of {before:,} points: the lowest and the highest of each short time."


def _rows(drawn_series: Sequence[Series]) -> list[tuple[str, ...]]:
    columns = [dict(line.points) for line in drawn_series]
    times = sorted(set().union(*columns))
    seconds = any(time.second or time.microsecond for time in times)
    return [(moment(time, seconds=seconds), *(_cell(column, time) for column in columns)) for time in times]


def _cell(column: dict[datetime, float | None], time: datetime) -> str:
    value = column.get(time)
    return "–" if value is None else exact(value)


def _summary(drawn_series: Sequence[Series], unit: str) -> str:
    """Describe one line by its range and last value, several lines by their last values."""
    ends = [(line.name, time, value) for line in drawn_series for time, value in _measured_points(line)[-1:]]
    if len(drawn_series) > 1:
        numbers = alike([value for _, _, value in ends])
        latest = "; ".join(
            f"{isolated(name, 24)} {with_unit(value, unit)}" for (name, _, _), value in zip(ends, numbers, strict=True)
        )
        return f"Latest: {latest}."
    values = [value for _, value in _measured_points(drawn_series[0])]
    _, last_time, last_value = ends[0]
    span = f"between {short(min(values))} and {with_unit(short(max(values)), unit)}"
    return f"Latest {with_unit(short(last_value), unit)} at {moment(last_time)} UTC; {span} in this time."


def _measured_points(series: Series) -> list[tuple[datetime, float]]:
    return [(time, value) for time, value in series.points if value is not None]


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    series: Sequence[Series]
    ticks: Sequence[float]
    since: datetime
    until: datetime
    unit: str

    def draw(self, width: int) -> Drawing:
        narrow = width == NARROW
        height = NARROW_HEIGHT if narrow else HEIGHT
        has_names = len(self.series) > 1 and not narrow
        room = _name_room(self.series, width) if has_names else 16
        frame = framed(width, height, self.ticks, unit=self.unit, right=room)
        runs = [self._runs(line, frame) for line in self.series]
        body = value_axis(frame, self.ticks, unit=self.unit) + time_axis(frame, self.since, self.until)
        body += "".join(_line(places, colour(at)) for at, places in enumerate(runs))
        if sum(len(line.points) for line in self.series) <= POINTED:
            body += "".join(map(self._targets, self.series, runs))
        if has_names:
            body += _names(
                [
                    (line.name, run[-1][-1], colour(at))
                    for at, (line, run) in enumerate(zip(self.series, runs, strict=True))
                    if run
                ],
                frame,
                room,
            )
        return Drawing(width, height, body)

    def _runs(self, series: Series, frame: Frame) -> list[list[tuple[float, float]]]:
        """Return the places of the points, in runs without a gap."""
        across = AxisScale(self.since.timestamp(), self.until.timestamp(), frame.left, frame.right)
        up = AxisScale(self.ticks[0], self.ticks[-1], frame.bottom, frame.top)
        runs: list[list[tuple[float, float]]] = [[]]
        for time, value in series.points:
            if value is not None:
                runs[-1].append((across(time.timestamp()), up(value)))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]

    def _targets(self, series: Series, runs: list[list[tuple[float, float]]]) -> str:
        """Draw invisible circles that show a point's value as a tooltip."""
        places = [point for run in runs for point in run]
        titles = (
            f"{isolated(series.name)} {moment(time)} UTC: {with_unit(exact(value), self.unit)}"
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
        element("circle", cx=x, cy=y, r=3, class_=f"chart-dot {series}") for (x, y), *more in runs if not more
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
