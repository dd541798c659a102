"""Places the label, mark and value of each row of a chart, for wide screens and phones."""

from collections.abc import Sequence
from dataclasses import dataclass

from autotune.charts.axes import Frame
from autotune.charts.figures import NARROW
from autotune.charts.svg import breadth, label, text

LABEL_SHARE = 0.36  # of the breadth, at most, for labels beside the marks
NOTE_SHARE = 0.22
SPACE = 12
LABEL_LINE = 20  # on a phone the label has a line of its own above the mark


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Labels at the left, marks between `frame.left` and `frame.right`, notes and values at the right.

    On a phone a label is above its mark, with note and value in the same line, and marks have the whole width.

    tall        from one row to the next
    label_room  for a label
    note_room   for a note; 0 if there are none
    value_room  for a value
    """

    narrow: bool
    width: float
    frame: Frame
    tall: float
    label_room: float
    note_room: float
    value_room: float

    def middle(self, at: int) -> float:
        """Return the height at which the mark of a row is centred."""
        top = self.frame.top + at * self.tall
        return top + (LABEL_LINE + (self.tall - LABEL_LINE) / 2 - 2 if self.narrow else self.tall / 2)

    def words(self, at: int, name: str, note: str, value: str) -> str:
        """Draw the label, note and value of a row."""
        y = self.frame.top + at * self.tall + LABEL_LINE - 6 if self.narrow else self.middle(at) + 4
        line = label(name, 0, y, self.label_room) + text(value, self.width, y, "chart-value", "end")
        if not note:
            return line
        return line + label(note, self.width - self.value_room, y, self.note_room, anchor="end", class_="chart-faint")


def laid_out(
    width: int, labels: Sequence[str], values: Sequence[str], notes: Sequence[str] = (), *, mark: float, foot: float = 0
) -> RowLayout:
    """Return a layout with the room that labels, notes and values need, within bounds; marks get the rest.

    mark  height of a mark with the space around it
    foot  height of the part below the rows, such as an axis
    """
    narrow = width == NARROW
    value_room = max(map(breadth, values)) + SPACE
    note_room = min(max(map(breadth, notes), default=0.0), NOTE_SHARE * width)
    beside = value_room + (note_room + SPACE if note_room else 0)
    longest = max(breadth(name[:200]) for name in labels) + 1
    label_room = width - beside if narrow else min(longest, LABEL_SHARE * width)
    tall = mark + (LABEL_LINE if narrow else 0)
    left, right = (0.0, float(width)) if narrow else (label_room + SPACE + 4, width - beside - 4)
    frame = Frame(left, 4, right, 4 + tall * len(labels))
    return RowLayout(narrow, width, frame, tall, label_room, note_room, value_room)
