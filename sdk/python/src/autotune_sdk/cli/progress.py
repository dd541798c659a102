"""Show progress on standard error: a bar on a terminal, otherwise an occasional line."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 30
BAR_S, LINE_S = 0.1, 10.0


class Progress:
    """Shows how many of `total` lines are submitted and final."""

    def __init__(self, total: int, stream: TextIO | None = None, quiet: bool = False) -> None:
        self.total, self.stream, self.quiet = total, stream or sys.stderr, quiet
        self.terminal = self.stream.isatty()
        self.submitted = self.final = self.first = 0
        self.began = self.shown = time.monotonic()
        self.open_line = False

    def update(self, *, submitted: int | None = None, final: int | None = None) -> None:
        """Update the counts and show them, at a limited rate."""
        self.submitted = self.submitted if submitted is None else submitted
        self.final = self.final if final is None else final
        if time.monotonic() - self.shown >= (BAR_S if self.terminal else LINE_S):
            self._show()

    def end(self) -> None:
        """Show the final figures, and end the bar."""
        self._show()
        if self.open_line:
            self.stream.write("\n")
            self.open_line = False

    def _show(self) -> None:
        if self.quiet:
            return
        now = time.monotonic()
        self.shown = now
        share = self.final / self.total if self.total else 1.0
        speed = self.final / max(now - self.began, 1e-3)
        text = f"{self.final:,} of {self.total:,} scored, {self.submitted:,} submitted, {speed:,.0f}/s"
        if self.terminal:
            filled = int(share * WIDTH)
            self.stream.write(f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%} {text}\x1b[K")
            self.open_line = True
        else:
            self.stream.write(text + "\n")
        self.stream.flush()
