"""Draws the distributions of several things above one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.charts.axes import share_axis
from autotune.charts.buckets import Quartiles, median_text, spread_text
from autotune.charts.figures import NARROW, Chart, Drawing, Table, colour, drawn, nothing
from autotune.charts.rows import LABEL_LINE, RowLayout, laid_out
from autotune.charts.scales import AxisScale, amounts, exact, finite, inner_ticks, quantile, short
from autotune.charts.svg import element, isolated, place, titled

ROW, NARROW_ROW, FOOT = 46, 36, 26
HEADROOM = 6  # between the peak of one ridge and the foot of the one above

Row = tuple[str, Sequence[int]]


def distributions(
    title: str, rows: Sequence[Row], *, quartiles: Sequence[Quartiles] = (), slots: Sequence[int] = (),
    low: float = 0.0, high: float = 1.0, noun: str = "scores", wide: bool = False,
    empty: str = "No scores in this time.",
) -> Chart:  # fmt: skip
    """Draw one small histogram per row, all above one axis from `low` to `high`, each scaled to its own peak.

    rows       (label, counts of equally broad buckets)
    quartiles  of each row, if they are known exactly
    slots      the place of each row among the colours
    """
    finite((low, high), "bound")
    if low >= high:
        raise ValueError("the axis ends before it begins")
    for _, counts in rows:
        amounts(counts)
        if not counts:
            raise ValueError("a distribution has at least one bucket")
    headers = ("Name", noun.capitalize(), "Median", "Spread", "Counts per bucket")
    if not any(any(counts) for _, counts in rows):
        return nothing(title, empty, headers, wide=wide)
    exact_rows: Sequence[Quartiles | None] = quartiles or [None] * len(rows)
    summary = _summary(rows, exact_rows, low, high, noun)
    plot = _Plot(rows, exact_rows, list(map(colour, slots)) or [""] * len(rows), low, high)
    cells = [_cells(row, quartiles, low, high) for row, quartiles in zip(rows, exact_rows, strict=True)]
    table = Table(headers, cells, f"Buckets from {exact(low)} to {exact(high)}.")
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide)


def _cells(row: Row, quartiles: Quartiles | None, low: float, high: float) -> tuple[str, ...]:
    label, counts = row
    texts = ("–", "–")
    if any(counts):
        texts = (median_text(counts, low, high, quartiles), spread_text(counts, low, high, quartiles))
    return (label, exact(sum(counts)), *texts, " ".join(map(str, counts)))


def _summary(rows: Sequence[Row], exact_rows: Sequence[Quartiles | None], low: float, high: float, noun: str) -> str:
    """Describe a single row; of several, the highest and the lowest median."""
    medians = [
        (_median(counts, quartiles, low, high), isolated(label), median_text(counts, low, high, quartiles))
        for (label, counts), quartiles in zip(rows, exact_rows, strict=True)
        if any(counts)
    ]
    (_, best, best_text), (_, worst, worst_text) = max(medians), min(medians)
    total = f"{short(sum(sum(counts) for _, counts in rows))} {noun}"
    if len(medians) == 1:
        place = next(place for place, (_, counts) in enumerate(rows) if any(counts))
        return f"{best}: median {best_text}; {total}; {spread_text(rows[place][1], low, high, exact_rows[place])}."
    medians_text = f"{best} {best_text}; lowest: {worst} {worst_text}"
    return f"{total}; highest median: {medians_text}. Each is scaled to its own peak."


def _median(counts: Sequence[int], quartiles: Quartiles | None, low: float, high: float) -> float:
    """Return the median, or about where it is drawn if only its bucket is known."""
    return quantile(counts, low, high, 0.5) if quartiles is None else quartiles.median


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    rows: Sequence[Row]
    exact_rows: Sequence[Quartiles | None]
    colours: Sequence[str]
    low: float
    high: float

    def draw(self, width: int) -> Drawing:
        values = [
            median_text(counts, self.low, self.high, quartiles) if any(counts) else "–"
            for (_, counts), quartiles in zip(self.rows, self.exact_rows, strict=True)
        ]
        labels = [label for label, _ in self.rows]
        layout = laid_out(width, labels, values, mark=NARROW_ROW if width == NARROW else ROW)
        across = AxisScale(self.low, self.high, layout.frame.left + 8, layout.frame.right - 8)
        ticks = inner_ticks(self.low, self.high, 5)
        body = share_axis(layout.frame, ticks, across)
        for at, label in enumerate(labels):
            body += self._ridge(at, self._foot(layout, at), layout.tall, across, narrow=layout.narrow)
            body += layout.words(at, label, "", values[at])
        return Drawing(width, layout.frame.bottom + FOOT, body)

    def _foot(self, layout: RowLayout, at: int) -> float:
        return round(layout.frame.top + (at + 1) * layout.tall) - 1.5

    def _ridge(self, at: int, foot: float, tall: float, across: AxisScale, *, narrow: bool) -> str:
        """Draw the counts of a row as steps on a ground line, with a tick at the median."""
        (label, counts), quartiles = self.rows[at], self.exact_rows[at]
        ground = element("line", x1=across.start, x2=across.end, y1=foot, y2=foot, class_="chart-grid")
        if not any(counts):
            return ground
        up = AxisScale(0, max(counts), foot, foot - tall + HEADROOM + (LABEL_LINE if narrow else 0))
        steps = "".join(f"V{place(up(count))}h{(across.end - across.start) / len(counts):.3f}" for count in counts)
        area = element(
            "path",
            d=f"M{place(across.start)} {place(foot)}{steps}V{place(foot)}Z",
            class_=f"chart-ridge {self.colours[at]}".rstrip(),
        )
        x = across(_median(counts, quartiles, self.low, self.high))
        tick = element("line", x1=x, x2=x, y1=foot, y2=up.end, class_="chart-median")
        median = median_text(counts, self.low, self.high, quartiles)
        title = f"{isolated(label)}: median {median}, {spread_text(counts, self.low, self.high, quartiles)}"
        return ground + titled("g", title, area + tick)
