"""The share of background purposes in what a drain claims: at most a tenth while other runs are due."""

from collections.abc import Sequence
from typing import Final

from scores.engine.claims import ClaimedRun
from scores.states import BACKGROUND

FOR_EACH: Final = 9  # other runs that earn one run of a background purpose
MOST_EARNED: Final = 50  # a drain that met no background work for long does not owe it a burst


class BackgroundShare:
    """How many runs of background purposes a drain may claim now."""

    def __init__(self) -> None:
        self._others = 0  # runs of other purposes that have not earned one yet

    @property
    def earned(self) -> int:
        return self._others // FOR_EACH

    def note(self, claimed: Sequence[ClaimedRun], limit: int) -> None:
        """Note a claim of at most `limit` runs. If it was not full, its background runs took the place of none."""
        background = sum(run.purpose in BACKGROUND for run in claimed)
        others = len(claimed) - background
        spent = background if len(claimed) == limit else 0
        self._others = max(0, min(self._others + others - FOR_EACH * spent, FOR_EACH * MOST_EARNED))
