"""Draws the frame of a plot, its grid lines and its tick labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from autotune.charts.scales import AxisScale, tick_labels
from autotune.charts.svg import breadth, cut, element, text
from autotune.charts.times import time_labels, time_ticks
from autotune.core.pages import zones

LINE = 18  # from one line of text to the next
NAME_ROOM = 180  # for the name of an axis, which may be the title
LABEL_ROOM = 66  # a label of time and the space around it


@dataclass(frozen=True, slots=True)
class Frame:
    """The rectangle in which values are drawn, in units of the viewBox."""

    left: float
    top: float
    right: float
    bottom: float


def framed(width: float, height: float, value_ticks: Sequence[float], *, name: str = "", right: float = 14) -> Frame:
    """Return a frame that leaves room for value labels at the left, the axis' name above and times below."""
    room = max(map(breadth, tick_labels(value_ticks)))
    return Frame(left=round(room) + 10, top=26 if name else 12, right=width - right, bottom=height - 24)


def value_axis(frame: Frame, ticks: Sequence[float], *, name: str = "") -> str:
    """Draw horizontal lines with their values, below the axis' name; the lowest is the ground line."""
    scale = AxisScale(ticks[0], ticks[-1], frame.bottom, frame.top)
    parts = [text(cut(name, NAME_ROOM), 0, 12, "chart-faint")] if name else []
    for tick, tick_label in zip(ticks, tick_labels(ticks), strict=True):
        y = round(scale(tick)) + 0.5  # on whole pixels a line is one pixel, not two grey ones
        kind = "chart-ground" if tick == ticks[0] else "chart-grid"
        parts.append(element("line", x1=frame.left, x2=frame.right, y1=y, y2=y, class_=kind))
        parts.append(text(tick_label, frame.left - 7, y + 4, "chart-tick", "end"))
    return "".join(parts)


def time_axis(frame: Frame, since: datetime, until: datetime) -> str:
    """Draw times below the ground line, and the name of their zone at the top."""
    room = frame.right - frame.left
    ticks = time_ticks(since, until, max(2, int(room // LABEL_ROOM)))
    scale = AxisScale(since.timestamp(), until.timestamp(), frame.left, frame.right)
    parts = [text(zones.active(), frame.right, 12, "chart-faint", "end")]
    for tick, tick_label in zip(ticks, time_labels(ticks), strict=True):
        x, half = scale(tick.timestamp()), breadth(tick_label) / 2
        if x + half <= frame.right + 14 and x - half >= 0:  # else it would be cut at the edge
            parts.append(text(tick_label, x, frame.bottom + LINE, "chart-tick", "middle"))
        parts.append(element("line", x1=x, x2=x, y1=frame.bottom, y2=frame.bottom + 4, class_="chart-ground"))
    return "".join(parts)


def time_places(frame: Frame, since: datetime, until: datetime) -> dict[str, str | float]:
    """Return the attributes of a drawing that say which times it covers, and where, for `crosshair.js`."""
    return {
        "data_since": f"{since.timestamp():.3f}", "data_until": f"{until.timestamp():.3f}", "data_left": frame.left,
        "data_right": frame.right, "data_top": frame.top, "data_bottom": frame.bottom,
    }  # fmt: skip


def share_axis(frame: Frame, ticks: Sequence[float], scale: AxisScale, *, grid: bool = True) -> str:
    """Draw values along the foot of a plot, with vertical lines through it if `grid`."""
    parts = []
    for tick, tick_label in zip(ticks, tick_labels(ticks), strict=True):
        x = round(scale(tick)) + 0.5
        top = frame.top if grid else frame.bottom
        parts.append(element("line", x1=x, x2=x, y1=top, y2=frame.bottom + (0 if grid else 4), class_="chart-grid"))
        parts.append(text(tick_label, x, frame.bottom + LINE, "chart-tick", "middle"))
    return "".join(parts)
