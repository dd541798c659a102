"""Print the progress and the results of a command: a progress bar and tables."""

import sys
from collections.abc import Sequence
from typing import TextIO

BAR_WIDTH = 40
LINES_WITHOUT_TERMINAL = 10  # a log gets a line for each tenth instead of a moving bar


class ProgressBar:
    """A progress bar on a terminal; a few lines elsewhere."""

    def __init__(self, label: str, total: int, out: TextIO | None = None) -> None:
        self._label, self._total = label, total
        self._out = out or sys.stdout
        self._shown = -1

    def show(self, done: int) -> None:
        """Show that `done` of the total are done. Outside a terminal, print only at each tenth."""
        parts = BAR_WIDTH if self._out.isatty() else LINES_WITHOUT_TERMINAL
        reached = done * parts // max(1, self._total)
        if self._out.isatty():
            filled = done * BAR_WIDTH // max(1, self._total)
            bar = "#" * filled + "." * (BAR_WIDTH - filled)
            end = "\n" if done >= self._total else ""
            self._out.write(f"\r{self._label} [{bar}] {done}/{self._total}{end}")
            self._out.flush()
        elif reached > self._shown:
            self._out.write(f"{self._label} {done}/{self._total}\n")
            self._out.flush()
        self._shown = max(reached, self._shown)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as columns under their heads: the first aligned left, the others right."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
        return "  ".join([cells[0].ljust(widths[0]), *rest]).rstrip()

    return "\n".join([line(head), line(["-" * width for width in widths]), *map(line, rows)])
