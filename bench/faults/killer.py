"""kill -9, again and again, of whatever works at the moment."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field

from .system import System
from .work import Work

SHORTEST_S = 1.0  # between two kills: the killed must have come back to be worth killing
LONGEST_S = 6.0
WEIGHTS = {"worker": 6, "web": 2, "web child": 1, "beat": 1}


@dataclass
class Killer:
    """`kills` of them, spread over the work's progress; by time only when there is no progress.

    by_time_s  a kill every so many seconds instead
    """

    system: System
    work: Work
    kills: int
    seed: int = 1
    by_time_s: float | None = None
    done: Counter[str] = field(default_factory=Counter)
    _last: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def count(self) -> int:
        return self.done.total()

    def step(self) -> None:
        waited = time.monotonic() - self._last
        if self.count >= self.kills or waited < (self.by_time_s or SHORTEST_S):
            return
        if self.by_time_s:
            self._kill()
            return
        due = self.work.total * (self.count + 1) / (self.kills + 2)
        if self.work.final >= due or (self.work.final and waited > LONGEST_S):
            self._kill()

    def _kill(self) -> None:
        """One of what says that it works."""
        kind = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        keeper, family = self.system.keeper, kind.split()[0]
        able = [name for name in self.system.names(family) if keeper.ready(name)]
        if not able:
            return
        name = self._random.choice(able)
        if kind == "web child":
            keeper.kill_child(name, self._random.choice)
        else:
            keeper.kill(name)
        self.done[kind] += 1
        self._last = time.monotonic()
