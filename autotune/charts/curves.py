"""Lines over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from autotune.charts.axes import Frame, framed, time_axis, value_axis
from autotune.charts.figures import NARROW, SERIES, Chart, Drawing, Table, colour, drawn, legend, nothing
from autotune.charts.scales import Scale, alike, aware, exact, finite, moment, nice_ticks, short, with_unit
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
    """Up to six lines from `since` to `until`.

    unit   of all values, such as `ms`
    low    the least that the axis shows, and `high` the most; without them it fits the values
    """
    if len(series) > SERIES:
        raise ValueError(f"{len(series)} series: only {SERIES} can be told apart")
    whole = [_within(one, since, until) for one in series]
    shown = [Series(one.name, thinned(one.points, since, until)) for one in whole]
    headers = ("Time (UTC)", *(one.name for one in series))
    known = [value for one in shown for _, value in one.points if value is not None]
    if not known:
        return nothing(title, empty, headers, wide=wide)
    ticks = _ticks(known, low, high)
    table = Table(headers, _rows(shown), _left_out(whole, shown))
    plot = _Plot(shown, ticks, since, until, unit)
    summary = _summary(shown, unit)
    keys = legend([one.name for one in shown], list(map(colour, range(len(shown)))))
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide, keys, labelled=bool(keys))


def _within(series: Series, since: datetime, until: datetime) -> Series:
    """What lies in the time, in its order."""
    aware((since, until, *(at for at, _ in series.points)))
    if since >= until:
        raise ValueError("the time ends before it begins")
    finite(value for _, value in series.points if value is not None)
    return Series(series.name, sorted((p for p in series.points if since <= p[0] <= until), key=lambda p: p[0]))


def _ticks(known: Sequence[float], low: float | None, high: float | None) -> list[float]:
    least, most = min(known), max(known)
    if 0 <= least < FROM_ZERO * most:
        least = 0.0
    least, most = least if low is None else min(low, least), most if high is None else max(high, most)
    return nice_ticks(least, most, 4)


def _left_out(whole: Sequence[Series], shown: Sequence[Series]) -> str:
    before, after = sum(len(one.points) for one in whole), sum(len(one.points) for one in shown)
    if before == after:
        return ""
    return f"{after:,} of {before:,} points: the lowest and the highest of each short time."


def _rows(shown: Sequence[Series]) -> list[tuple[str, ...]]:
    columns = [dict(one.points) for one in shown]
    times = sorted(set().union(*columns))
    seconds = any(at.second or at.microsecond for at in times)
    return [(moment(at, seconds=seconds), *(_cell(column, at) for column in columns)) for at in times]


def _cell(column: dict[datetime, float | None], at: datetime) -> str:
    value = column.get(at)
    return "–" if value is None else exact(value)


def _summary(shown: Sequence[Series], unit: str) -> str:
    """The range and the last value; with several lines, each one's last value."""
    ends = [(one.name, at, value) for one in shown for at, value in _known(one)[-1:]]
    if len(shown) > 1:
        written = alike([value for _, _, value in ends])
        said = "; ".join(
            f"{isolated(name, 24)} {with_unit(value, unit)}" for (name, _, _), value in zip(ends, written, strict=True)
        )
        return f"Latest: {said}."
    values = [value for _, value in _known(shown[0])]
    _, at, last = ends[0]
    span = f"between {short(min(values))} and {with_unit(short(max(values)), unit)}"
    return f"Latest {with_unit(short(last), unit)} at {moment(at)} UTC; {span} in this time."


def _known(series: Series) -> list[tuple[datetime, float]]:
    return [(at, value) for at, value in series.points if value is not None]


@dataclass(frozen=True, slots=True)
class _Plot:
    """All that is drawn, before its breadth is known."""

    shown: Sequence[Series]
    ticks: Sequence[float]
    since: datetime
    until: datetime
    unit: str

    def draw(self, width: int) -> Drawing:
        narrow = width == NARROW
        height = NARROW_HEIGHT if narrow else HEIGHT
        named = len(self.shown) > 1 and not narrow
        room = _name_room(self.shown, width) if named else 16
        frame = framed(width, height, self.ticks, unit=self.unit, right=room)
        runs = [self._runs(one, frame) for one in self.shown]
        body = value_axis(frame, self.ticks, unit=self.unit) + time_axis(frame, self.since, self.until)
        body += "".join(_line(places, colour(at)) for at, places in enumerate(runs))
        if sum(len(one.points) for one in self.shown) <= POINTED:
            body += "".join(map(self._targets, self.shown, runs))
        if named:
            body += _names(
                [
                    (one.name, run[-1][-1], colour(at))
                    for at, (one, run) in enumerate(zip(self.shown, runs, strict=True))
                    if run
                ],
                frame,
                room,
            )
        return Drawing(width, height, body)

    def _runs(self, series: Series, frame: Frame) -> list[list[tuple[float, float]]]:
        """Places of the points, in runs without a gap."""
        across = Scale(self.since.timestamp(), self.until.timestamp(), frame.left, frame.right)
        up = Scale(self.ticks[0], self.ticks[-1], frame.bottom, frame.top)
        runs: list[list[tuple[float, float]]] = [[]]
        for at, value in series.points:
            if value is not None:
                runs[-1].append((across(at.timestamp()), up(value)))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]

    def _targets(self, series: Series, runs: list[list[tuple[float, float]]]) -> str:
        """Circles without ink that say a point's value when pointed at."""
        places = [point for run in runs for point in run]
        said = (
            f"{isolated(series.name)} {moment(at)} UTC: {with_unit(exact(value), self.unit)}"
            for at, value in _known(series)
        )
        return "".join(
            titled("circle", words, cx=x, cy=y, r=7, class_="chart-target")
            for (x, y), words in zip(places, said, strict=True)
        )


def _line(runs: list[list[tuple[float, float]]], series: str) -> str:
    """One path for all runs; a point with a gap on both sides is a dot."""
    path = "".join(f"M{'L'.join(f'{x:.1f} {y:.1f}' for x, y in run)}" for run in runs if len(run) > 1)
    dots = "".join(
        element("circle", cx=x, cy=y, r=3, class_=f"chart-dot {series}") for (x, y), *more in runs if not more
    )
    return (element("path", d=path, class_=f"chart-line {series}") if path else "") + dots


def _name_room(shown: Sequence[Series], width: int) -> float:
    """So much that the longest name is whole, within bounds: names of models differ at their ends."""
    return min(width * NAME_SHARE, max(NAME_ROOM, NAME_MARGIN + max(breadth(one.name) for one in shown)))


def _names(ends: Sequence[tuple[str, tuple[float, float], str]], frame: Frame, room: float) -> str:
    """Each line's name beside its last point, moved up or down where two would touch."""
    ordered = sorted(ends, key=lambda end: end[1][1])
    heights: list[float] = []
    for _, (_, y), _ in ordered:
        heights.append(max(y, heights[-1] + APART) if heights else y)
    for at in range(len(heights) - 1, -1, -1):  # what was pushed past the foot goes back up
        heights[at] = min(heights[at], frame.bottom - 2 if at == len(heights) - 1 else heights[at + 1] - APART)
    x = frame.right + 8
    return "".join(
        element("circle", cx=x + 4, cy=y, r=4, class_=f"chart-dot {series}")
        + label(name, x + 13, y + 4, room - NAME_MARGIN)
        for (name, _, series), y in zip(ordered, heights, strict=True)
    )
