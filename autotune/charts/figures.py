"""The parts of every chart: a title, a summary, drawings for several widths, and a table of the same figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from secrets import token_hex

from django.utils.safestring import SafeString

from autotune.charts.svg import element, join

NARROW, HALF, FULL = 360, 560, 960  # widths of a viewBox; charts.css shows the one that fits its container
SHORT_CELL = 20  # characters
TONES = ("neutral", "good", "warn", "bad")
SERIES = 6  # how many colours a person can distinguish, and so lines of a chart
COLOURS = SERIES
PATTERNS = 3  # each colour as a full line and in two ways of dashes
SLOTS = COLOURS * PATTERNS


@dataclass(frozen=True, slots=True)
class Table:
    """The figures as text. The first cell of a row names it.

    note       what the rows leave out, or nothing
    row_times  of a chart over time: where each row lies on its axis, in seconds since 1970, for js/crosshair.js
    """

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""
    row_times: Sequence[float] = ()

    @property
    def body(self) -> SafeString:
        """The rows as HTML. Written here because a template takes five times as long for 400 of them."""
        places = [f' data-at="{row_time:.3f}"' for row_time in self.row_times] or [""] * len(self.rows)
        return join(map(_row, self.rows, places))


def _row(row: tuple[str, ...], place: str) -> str:
    cells = "".join(f"<td{_figure_class(cell)}><bdi>{escape(cell)}</bdi></td>" for cell in row[1:])
    return f'<tr{place}><th scope="row"{_figure_class(row[0])}><bdi>{escape(row[0])}</bdi></th>{cells}</tr>'


def _figure_class(cell: str) -> str:
    """Figures and short names stay in one line; longer texts break wherever they must."""
    return ' class="chart-figure"' if len(cell) <= SHORT_CELL else ""


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """One entry of a legend: a colour and its name."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart; `{% chart value %}` prints it.

    summary   one or two sentences of what the figures say
    svg       its drawings, one per width, of which the stylesheet shows one; empty if there is nothing to draw
    wide      drawn for the whole width of the page
    legend    the names of the colours, if there are several
    labelled  the broader drawings name their series themselves, so the legend is for the narrow one
    """

    title: str
    summary: str
    svg: SafeString
    table: Table
    wide: bool = False
    legend: tuple[LegendEntry, ...] = ()
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """One drawing: its size in units, its elements, and more attributes of the svg.

    role  `img`, or `group` if there are links within: an image's parts are hidden from those who cannot see it
    """

    width: float
    height: float
    body: str
    role: str = "img"
    attributes: dict[str, str | float] = field(default_factory=dict)


def nothing(title: str, sentence: str, headers: tuple[str, ...], *, wide: bool = False) -> Chart:
    """Return a chart without data, which shows the sentence in place of the drawing."""
    return Chart(title, sentence, SafeString(""), Table(headers, []), wide)


def drawn(title: str, summary: str, draw: Callable[[int], Drawing], *, wide: bool) -> SafeString:
    """Draw a chart for each width that it may have."""
    return join(
        _svg(title, summary, draw(width), width) for width in ((NARROW, HALF, FULL) if wide else (NARROW, HALF))
    )


def _svg(title: str, summary: str, drawing: Drawing, width: int) -> SafeString:
    mark = f"chart-{token_hex(4)}"  # random, since different processes may draw parts of one page
    title_markup = element("title", escape(title), id=f"{mark}-t")
    summary_markup = element("desc", escape(summary), id=f"{mark}-d")
    return element(
        "svg", title_markup + summary_markup + drawing.body, class_=f"chart-svg chart-{width}",
        viewBox=f"0 0 {drawing.width:g} {drawing.height:g}", role=drawing.role,
        aria_labelledby=f"{mark}-t", aria_describedby=f"{mark}-d", **drawing.attributes,
    )  # fmt: skip


def colour(place: int) -> str:
    """Return the CSS classes of the series at `place` of SLOTS: a colour, and from the seventh on a pattern."""
    pattern = place // COLOURS % PATTERNS
    return f"chart-series-{place % COLOURS + 1}{f' chart-pattern-{pattern}' if pattern else ''}"


def legend(names: Sequence[str], colours: Sequence[str], *, even_one: bool = False) -> tuple[LegendEntry, ...]:
    """Return one key per name; none for a single name, which the title shows, unless `even_one`."""
    return tuple(map(LegendEntry, names, colours)) if len(names) > 1 or (even_one and names) else ()
