"""Draws sparklines, which are as small as a word."""

from collections.abc import Sequence

from django.utils.safestring import SafeString

from autotune.charts.figures import TONES
from autotune.charts.scales import AxisScale, finite
from autotune.charts.svg import element, place
from autotune.charts.units import measure

WIDTH, HEIGHT, ROOM = 96, 24, 3
DOT, LAST_DOT = 1.5, 2  # radius of a point between gaps, and of the last one
POINTS = 2 * (WIDTH - 2 * ROOM)


def sparkline(values: Sequence[float | None], *, label: str, tone: str = "neutral") -> SafeString:
    """Draw a line without axes, 96 by 24; None is a gap. It has no table: pass the text of `spark_label` as `label`."""
    finite(value for value in values if value is not None)
    if tone not in TONES:
        raise ValueError("a tone is neutral, good, warn or bad")
    return element(
        "svg", _line(_thinned(values), f"chart-tone-{tone}"), class_="chart-spark", viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=WIDTH, height=HEIGHT, role="img", aria_label=label,
    )  # fmt: skip


def spark_label(values: Sequence[float | None], unit: str = "") -> str:
    """Describe values in words: `From 0.5 to 0.72; lowest 0.4, highest 0.9`."""
    numbers = [value for value in values if value is not None]
    finite(numbers)
    if not numbers:
        return "No values"
    first, last, least, most = (measure(value, unit) for value in (numbers[0], numbers[-1], min(numbers), max(numbers)))
    return f"From {first} to {last}; lowest {least}, highest {most}" if len(numbers) > 1 else f"Only {first}"


def _thinned(values: Sequence[float | None]) -> list[float | None]:
    """Return the lowest and the highest of each piece, if there are more values than half-pixels."""
    if len(values) <= POINTS:
        return list(values)
    extremes: list[float | None] = []
    for at in range(POINTS // 2):
        piece = values[at * len(values) * 2 // POINTS : (at + 1) * len(values) * 2 // POINTS]
        numbers = [value for value in piece if value is not None]
        pair = [min(numbers), max(numbers)] if numbers else [None]
        extremes += pair if not numbers or numbers[0] <= numbers[-1] else pair[::-1]
    return extremes


def _line(values: Sequence[float | None], tone: str) -> str:
    """Draw the line in runs between gaps, and dots at the last value and at those between two gaps."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return element("line", x1=ROOM, x2=WIDTH - ROOM, y1=HEIGHT / 2, y2=HEIGHT / 2, class_="chart-grid")
    across = AxisScale(0, len(values) - 1, ROOM, WIDTH - ROOM)
    up = AxisScale(min(numbers), max(numbers), HEIGHT - ROOM, ROOM)
    path, open_ = "", False
    for at, value in enumerate(values):
        if value is not None:
            path += f"{'L' if open_ else 'M'}{place(across(at))} {place(up(value))}"
        open_ = value is not None
    last = max(at for at, value in enumerate(values) if value is not None)
    dots = "".join(
        element("circle", cx=across(at), cy=up(value), r=LAST_DOT if at == last else DOT, class_=f"chart-dot {tone}")
        for at, value in enumerate(values)
        if value is not None and (at == last or _is_alone(values, at))
    )
    return element("path", d=path, class_=f"chart-line {tone}") + dots


def _is_alone(values: Sequence[float | None], at: int) -> bool:
    """Return whether a value has a gap, or nothing, on both sides."""
    return all(value is None for value in (*values[max(at - 1, 0) : at], *values[at + 1 : at + 2]))
