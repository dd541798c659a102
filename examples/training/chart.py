"""A line chart as SVG, without a library: the same figures give the same file."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 44
TICKS = 5
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:14px;font-weight:600}"
    ".grid{stroke:#ddd;stroke-width:1}.axis{stroke:#888;stroke-width:1}"
)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """One line of a chart. A faint one is drawn thin and light, as the figures behind a smoother line."""

    label: str
    points: Points
    color: str = "#0b61a4"
    faint: bool = False


def smooth(points: Points, window: int) -> list[tuple[float, float]]:
    """The mean of the last `window` values at each place."""
    values = [value for _, value in points]
    means = [sum(part) / len(part) for part in (values[max(0, at + 1 - window) : at + 1] for at in range(len(values)))]
    return [(x, mean) for (x, _), mean in zip(points, means, strict=True)]


def svg(title: str, lines: Sequence[Line], *, across: str, up: tuple[float, float]) -> str:
    """The chart. `across` names what runs to the right; `up` is the range of the values."""
    last = max(x for line in lines for x, _ in line.points)

    def place(x: float, y: float) -> str:
        return f"{_right(x, last):.1f},{_down(y, up):.1f}"

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        *_grid(last, up),
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(across)}</text>',
    ]
    for line in lines:
        path = " ".join(place(x, y) for x, y in line.points)
        width, opacity = (1, 0.35) if line.faint else (2, 1)
        drawn.append(
            f'<polyline points="{path}" fill="none" stroke="{line.color}" '
            f'stroke-width="{width}" stroke-opacity="{opacity}"/>'
        )
    return "\n".join([*drawn, *_legend(lines), "</svg>", ""])


def _right(x: float, last: float) -> float:
    return LEFT + x / last * (WIDTH - LEFT - RIGHT)


def _down(y: float, up: tuple[float, float]) -> float:
    low, high = up
    return HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def _grid(last: float, up: tuple[float, float]) -> list[str]:
    low, high = up
    rows = [low + (high - low) * step / TICKS for step in range(TICKS + 1)]
    columns = [round(last * step / TICKS) for step in range(TICKS + 1)]
    floor = HEIGHT - BOTTOM
    return [
        *(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_down(y, up):.1f}" y2="{_down(y, up):.1f}"/>'
          f'<text x="{LEFT - 8}" y="{_down(y, up) + 4:.1f}" text-anchor="end">{y:.2f}</text>' for y in rows),
        *(f'<text x="{_right(x, last):.1f}" y="{floor + 18}" text-anchor="middle">{x}</text>' for x in columns),
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}"/>',
    ]  # fmt: skip


def _legend(lines: Sequence[Line]) -> list[str]:
    drawn, x = [], LEFT
    for line in lines:
        opacity = 0.35 if line.faint else 1
        drawn.append(
            f'<rect x="{x}" y="29" width="14" height="4" fill="{line.color}" fill-opacity="{opacity}"/>'
            f'<text x="{x + 20}" y="35">{escape(line.label)}</text>'
        )
        x += 40 + 7 * len(line.label)
    return drawn
