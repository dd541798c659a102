"""Reduces points to as many as a drawing can show, without losing a spike."""

from collections.abc import Sequence
from datetime import datetime

COLUMNS = 200  # with the lowest and the highest of each, at most 400 points are drawn

Point = tuple[datetime, float | None]


def thinned(points: Sequence[Point], since: datetime, until: datetime) -> list[Point]:
    """Return the lowest and the highest point of each of COLUMNS equal times; a time without a value is a gap.

    points  ordered by time, all within [since, until]; returned as they are if they are few
    """
    if len(points) <= 2 * COLUMNS:
        return list(points)
    extremes: list[Point] = []
    for column in _columns(points, since, until):
        measured_points = [(time, value) for time, value in column if value is not None]
        if not measured_points:
            extremes.append(column[0])
            continue
        lowest, highest = min(measured_points, key=_value), max(measured_points, key=_value)
        extremes += [lowest] if lowest == highest else sorted([lowest, highest])
    return extremes


def _columns(points: Sequence[Point], since: datetime, until: datetime) -> list[list[Point]]:
    columns: list[list[Point]] = []
    step, last = (until - since) / COLUMNS, -1
    for point in points:
        place = min(int((point[0] - since) / step), COLUMNS - 1)
        if place != last:
            columns.append([])
            last = place
        columns[-1].append(point)
    return columns


def _value(point: tuple[datetime, float]) -> float:
    return point[1]
