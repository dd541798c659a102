"""Charts drawn on the server: SVG with a name and a summary, and a table of the same figures.

    chart = histogram("Scores", counts, links=hrefs, brush="score")      # in a view: plain values, no models
    {% load charts %} {% chart chart %}                                  # in a template; a sparkline prints itself

A page links `css/charts.css`, `js/crosshair.js` as a module for charts over time (`js/app.js` imports it), and
`js/brush.js` if a histogram has a brush. There are no `style` attributes
and no scripts in the output, so a strict Content-Security-Policy holds. Text is escaped here: pass it unescaped.

    lines(title, series, *, since, until, axis="", unit="", low=None, high=None, wide=True, empty=...)
    columns(title, stacks, names, *, axis="", unit="", since=None, until=None, tones=(), wide=True, empty=...)
    histogram(title, counts, *, low=0.0, high=1.0, chosen=None, quartiles=None, links=None, brush=None,
              noun="scores", wide=False, empty=...)
    bars(title, rows, *, unit="", wide=False, empty=...)
    intervals(title, rows, *, noun="scores", wide=False, empty=...)
    distributions(title, rows, *, quartiles=(), slots=(), low=0.0, high=1.0, noun="scores", wide=False, empty=...)
    sparkline(values, *, label, tone="neutral") -> SafeString             # 96 by 24 pixels, no table
    spark_label(values, unit="") -> str                                   # first, last, lowest, highest in words
    strip(outcomes, *, label) -> SafeString                               # a bar for each, 16 pixels high, no table

    Series(name, points, slot=None)             points: (aware datetime, value or None for a gap)
    Bar(label, value, *, note="", href="", tone="neutral", total=None)    tone: neutral, good, warn or bad
    Interval(label, mean, low, high, count, *, href="", slot=None)
    Quartiles(low, median, high)                the exact ones; without them a text names the bucket of the median
    distributions' rows                         (label, counts per bucket from `low` to `high`)

All but the last three functions return a `Chart(title, summary, svg, table, wide, ...)`. `wide` is for a chart that has
the page's width; without it a chart is drawn for half of that. A phone gets a drawing of its own either way. `empty`
is the sentence to show if there is nothing to draw. A NaN, an infinity, a negative count, a naive datetime or an
address that leaves this site raises ValueError.

Over time, a chart shows only the part of [since, until] that has values, if that is less than half of it, and its
summary says so. Times are in Django's active time zone, which the chart names. `units` says how values are written.

slot    a place from 0 to SLOTS - 1 among the colours, where a name must have the same colour in several charts
brush   `brush="score"` sets the inputs with the ids `score-min` and `score-max`, fires `change`, and submits their
        form, unless it (or an input) has an `hx-trigger` that waits for `change`. The module wires itself, also after
        `htmx:load`. `links` work without JavaScript.
"""

from autotune.charts.buckets import Quartiles, histogram
from autotune.charts.curves import Series, lines
from autotune.charts.figures import COLOURS, SLOTS, Chart, Table
from autotune.charts.ranking import Bar, bars
from autotune.charts.ridges import distributions
from autotune.charts.sparks import spark_label, sparkline
from autotune.charts.stacking import columns
from autotune.charts.strips import strip
from autotune.charts.whiskers import Interval, intervals

__all__ = [
    "COLOURS", "SLOTS", "Bar", "Chart", "Interval", "Quartiles", "Series", "Table", "bars", "columns", "distributions",
    "histogram", "intervals", "lines", "spark_label", "sparkline", "strip",
]  # fmt: skip
