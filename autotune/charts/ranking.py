"""Draws horizontal bars for named things."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from autotune.charts.figures import TONES, Chart, Drawing, Table, drawn, nothing
from autotune.charts.rows import laid_out
from autotune.charts.scales import AxisScale, alike, amounts, exact, with_unit
from autotune.charts.svg import element, isolated, linked, own_address, titled

ROW, THICK = 30, 14
LEAST_BAR = 2.0  # units: any value above zero stays visible


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a bar chart.

    note   a few words beside the value, such as a weight
    href   where a click leads, on this site
    tone   neutral, good, warn or bad
    total  what `value` is a part of; drawn as the ground behind it
    """

    label: str
    value: float
    note: str = field(default="", kw_only=True)
    href: str = field(default="", kw_only=True)
    tone: str = field(default="neutral", kw_only=True)
    total: float | None = field(default=None, kw_only=True)


def bars(
    title: str, rows: Sequence[Bar], *, unit: str = "", wide: bool = False, empty: str = "Nothing to show."
) -> Chart:
    """Draw bars from zero on one scale, in the order of `rows`, each with its value."""
    _check(rows)
    headers = _headers(rows, unit)
    if not rows:
        return nothing(title, empty, headers, wide=wide)
    summary, plot = _summary(rows, unit), _Plot(rows, unit)
    table = Table(headers, [_row(bar, headers) for bar in rows])
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide)


def _check(rows: Sequence[Bar]) -> None:
    for bar in rows:
        amounts((bar.value, 0 if bar.total is None else bar.total), "bar's value")
        if bar.tone not in TONES:
            raise ValueError("a tone is neutral, good, warn or bad")
        if bar.href:
            own_address(bar.href)


def _headers(rows: Sequence[Bar], unit: str) -> tuple[str, ...]:
    of = ("Of",) if any(bar.total is not None for bar in rows) else ()
    note = ("Note",) if any(bar.note for bar in rows) else ()
    return ("Name", f"Value ({unit})" if unit else "Value", *of, *note)


def _row(bar: Bar, headers: tuple[str, ...]) -> tuple[str, ...]:
    of = ("–" if bar.total is None else exact(bar.total),) if "Of" in headers else ()
    return (bar.label, exact(bar.value), *of, *((bar.note,) if "Note" in headers else ()))


def _summary(rows: Sequence[Bar], unit: str) -> str:
    most, least = max(rows, key=lambda bar: bar.value), min(rows, key=lambda bar: bar.value)
    high, low = alike([most.value, least.value])
    most_text = f"{isolated(most.label)} {with_unit(high, unit)}"
    if len(rows) == 1:
        return f"{most_text}."
    if most.value == least.value:
        return f"{len(rows)} names with {with_unit(high, unit)} each."
    return f"Most: {most_text}; least: {isolated(least.label)} {with_unit(low, unit)}."


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    rows: Sequence[Bar]
    unit: str

    def draw(self, width: int) -> Drawing:
        values = [with_unit(number, self.unit) for number in alike([bar.value for bar in self.rows])]
        layout = laid_out(width, [bar.label for bar in self.rows], values, [bar.note for bar in self.rows], mark=ROW)
        most = max(max(bar.value, bar.total or 0) for bar in self.rows) or 1.0
        across = AxisScale(0, most, layout.frame.left, layout.frame.right)
        body = "".join(
            linked(
                bar.href, self._bar(bar, layout.middle(at), across) + layout.words(at, bar.label, bar.note, values[at])
            )
            for at, bar in enumerate(self.rows)
        )
        role = "group" if any(bar.href for bar in self.rows) else "img"
        return Drawing(width, layout.frame.bottom + 4, body, role)

    def _bar(self, bar: Bar, middle: float, across: AxisScale) -> str:
        """Draw the bar over its total, with its value as a tooltip."""
        full = across(across.high if bar.total is None else bar.total) - across.start
        ground = "chart-target" if bar.total is None else "chart-track"
        track = element("rect", x=across.start, y=middle - THICK / 2, width=full, height=THICK, rx=3, class_=ground)
        long = max(across(bar.value) - across.start, LEAST_BAR if bar.value else 0)
        mark = element(
            "rect",
            x=across.start,
            y=middle - THICK / 2,
            width=long,
            height=THICK,
            rx=3,
            class_=f"chart-fill chart-tone-{bar.tone}",
        )
        of = "" if bar.total is None else f" of {exact(bar.total)}"
        return titled("g", f"{isolated(bar.label)}: {with_unit(exact(bar.value) + of, self.unit)}", track + mark)
