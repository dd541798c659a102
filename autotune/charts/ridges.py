"""Draws the distributions of several things above one axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.charts.axes import share_axis
from autotune.charts.buckets import middle, spread
from autotune.charts.figures import NARROW, Chart, Drawing, Table, drawn, nothing
from autotune.charts.rows import LABEL_LINE, RowLayout, laid_out
from autotune.charts.scales import AxisScale, alike, amounts, exact, finite, inner_ticks, quantile, short
from autotune.charts.svg import element, isolated, place, titled

ROW, NARROW_ROW, FOOT = 46, 36, 26
HEADROOM = 6  # between the peak of one ridge and the foot of the one above

Row = tuple[str, Sequence[int]]


def distributions(
    title: str, rows: Sequence[Row], *, low: float = 0.0, high: float = 1.0, noun: str = "scores", wide: bool = False,
    empty: str = "No scores in this time.",
) -> Chart:  # fmt: skip
    """Draw one small histogram per row, all above one axis from `low` to `high`, each scaled to its own peak.

    rows  (label, counts of equally broad buckets)
    """
    finite((low, high), "bound")
    if low >= high:
        raise ValueError("the axis ends before it begins")
    for _, counts in rows:
        amounts(counts)
        if not counts:
            raise ValueError("a distribution has at least one bucket")
    headers = ("Name", noun.capitalize(), "Median", "10 %", "90 %", "Counts per bucket")
    if not any(any(counts) for _, counts in rows):
        return nothing(title, empty, headers, wide=wide)
    summary, plot = _summary(rows, low, high, noun), _Plot(rows, low, high)
    table = Table(headers, [_cells(row, low, high) for row in rows], f"Buckets from {exact(low)} to {exact(high)}.")
    return Chart(title, summary, drawn(title, summary, plot.draw, wide=wide), table, wide)


def _cells(row: Row, low: float, high: float) -> tuple[str, ...]:
    label, counts = row
    shares = ["–"] * 3
    if any(counts):
        shares = [short(middle(counts, low, high, share)) for share in (0.5, 0.1, 0.9)]
    return (label, exact(sum(counts)), *shares, " ".join(map(str, counts)))


def _summary(rows: Sequence[Row], low: float, high: float, noun: str) -> str:
    """Describe a single row; of several, the highest and the lowest median."""
    median_rows = [(middle(counts, low, high), label, counts) for label, counts in rows if any(counts)]
    best, worst = max(median_rows, key=lambda row: row[0]), min(median_rows, key=lambda row: row[0])
    total = f"{short(sum(sum(counts) for _, counts in rows))} {noun}"
    if len(median_rows) == 1:
        return f"{isolated(best[1])}: median {short(best[0])}; {total}; {spread(best[2], low, high)}."
    medians = f"{isolated(best[1])} {short(best[0])}; lowest: {isolated(worst[1])} {short(worst[0])}"
    return f"{total}; highest median: {medians}. Each is scaled to its own peak."


@dataclass(frozen=True, slots=True)
class _Plot:
    """Everything that is drawn, for any width."""

    rows: Sequence[Row]
    low: float
    high: float

    def draw(self, width: int) -> Drawing:
        medians = iter(alike([middle(counts, self.low, self.high) for _, counts in self.rows if any(counts)]))
        values = [next(medians) if any(counts) else "–" for _, counts in self.rows]
        labels = [label for label, _ in self.rows]
        layout = laid_out(width, labels, values, mark=NARROW_ROW if width == NARROW else ROW)
        across = AxisScale(self.low, self.high, layout.frame.left + 8, layout.frame.right - 8)
        ticks = inner_ticks(self.low, self.high, 5)
        body = share_axis(layout.frame, ticks, across)
        for at, (label, counts) in enumerate(self.rows):
            body += self._ridge(label, counts, self._foot(layout, at), layout.tall, across, narrow=layout.narrow)
            body += layout.words(at, label, "", values[at])
        return Drawing(width, layout.frame.bottom + FOOT, body)

    def _foot(self, layout: RowLayout, at: int) -> float:
        return round(layout.frame.top + (at + 1) * layout.tall) - 1.5

    def _ridge(
        self, label: str, counts: Sequence[int], foot: float, tall: float, across: AxisScale, *, narrow: bool
    ) -> str:
        """Draw the counts as steps on a ground line, with a tick at the median."""
        ground = element("line", x1=across.start, x2=across.end, y1=foot, y2=foot, class_="chart-grid")
        if not any(counts):
            return ground
        up = AxisScale(0, max(counts), foot, foot - tall + HEADROOM + (LABEL_LINE if narrow else 0))
        steps = "".join(f"V{place(up(count))}h{(across.end - across.start) / len(counts):.3f}" for count in counts)
        area = element("path", d=f"M{place(across.start)} {place(foot)}{steps}V{place(foot)}Z", class_="chart-ridge")
        x = across(quantile(counts, self.low, self.high, 0.5))
        tick = element("line", x1=x, x2=x, y1=foot, y2=up.end, class_="chart-median")
        median = short(middle(counts, self.low, self.high))
        title = f"{isolated(label)}: median {median}, {spread(counts, self.low, self.high)}"
        return ground + titled("g", title, area + tick)
