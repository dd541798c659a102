"""The bounds of one page's text, shared by all texts on it, so that no text makes the page slow or large."""

import time
from dataclasses import dataclass, field
from typing import Final

FORMATTED: Final = 20_000  # characters of a page that are read as Markdown; behind them text is shown as written
MAX_SECONDS: Final = 0.2  # of computing, for Markdown and colours
COLOURED: Final = 40_000  # characters of code in colours
MAX_MARKS: Final = 1_000  # hidden characters that are spelt out
MAX_FORMULAS: Final = 150  # formulas that are set; the others stay as written
CHECKED: Final = 16  # the clock is read at each so many-th check: reading it costs as much as a step of work


class TooCostly(Exception):
    """A text that takes more time or nesting than a page allows. It is shown as written."""


@dataclass(slots=True)
class RenderingBudget:
    """What is left of a page's bounds."""

    characters: int = FORMATTED
    colours: int = COLOURED
    marks: int = MAX_MARKS
    formulas: int = MAX_FORMULAS
    checks: int = 0
    ends: float = field(default_factory=lambda: time.thread_time() + MAX_SECONDS)

    @property
    def is_spent(self) -> bool:
        """Whether the time for computing is over."""
        return time.thread_time() > self.ends

    def check(self) -> None:
        """Raise TooCostly once the time for computing is over."""
        self.checks += 1
        if self.checks % CHECKED == 0 and self.is_spent:
            raise TooCostly
