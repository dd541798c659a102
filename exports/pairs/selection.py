"""Select preference pairs: two answers to one prompt of a task, one of which has the greater reward.

Equal answers count as one answer, with the newest reward. Rewards that differ by a rounding error are equal, and
equal rewards make no pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from exports.pairs.statement import Statement
from exports.requests import MAX_CAP

BEST_WORST: Final = "best_worst"
CAPS: Final = {BEST_WORST: 1, "all": MAX_CAP, "random": 1}  # if the request has none
ROUNDING: Final = 1e-9  # 0.3 - 0.1 is slightly less than 0.2 and must still count as 0.2


class Pair(NamedTuple):
    """Two completions, as 16 bytes each, with their rewards."""

    prompt: bytes
    chosen: bytes
    rejected: bytes
    chosen_score: float
    rejected_score: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Which pairs to make of each prompt.

    strategy         `best_worst`: one, the greatest reward and the least. `all`: any two answers. `random`: as many
                     as `cap` of them, drawn by `seed`
    min_score_delta  the least difference of their rewards
    cap              most pairs of a prompt; if there are more, they are spread evenly
    """

    strategy: str = BEST_WORST
    min_score_delta: float = 0.0
    cap: int | None = None
    seed: int = 0

    @property
    def most(self) -> int:
        """The most pairs to make of a prompt."""
        return 1 if self.strategy == BEST_WORST else self.cap or CAPS[self.strategy]

    def statement(self, rewarded: Any) -> Statement:
        """Build the statement over a queryset of completions, all of one task."""
        source = rewarded.filter(reward__value__isnull=False, prompt_digest__gt=b"").order_by()
        return Statement(
            source.values_list("prompt_digest", "answer_digest", "id", "reward__value"),
            gap=max(self.min_score_delta - ROUNDING, ROUNDING),
            cap=self.most,
            seed=str(self.seed) if self.strategy == "random" else None,
        )


def count(rewarded: Any, choice: Choice) -> int:
    """Count the pairs."""
    return choice.statement(rewarded).count()


def of(rewarded: Any, choice: Choice) -> list[Pair]:
    """Return all pairs, by prompt and then by their ids."""
    return [_pair(row) for row in choice.statement(rewarded).whole()]


def sample(rewarded: Any, choice: Choice, size: int) -> tuple[list[Pair], int]:
    """Return up to `size` pairs, spread evenly over prompts and drawn by the seed, and how many there are."""
    pairs, available = [], 0
    for available, *row in choice.statement(rewarded).drawn(size, str(choice.seed)):  # noqa: B007
        pairs.append(_pair(row))
    return pairs, available


def _pair(row: Sequence[Any]) -> Pair:
    prompt, chosen, chosen_score, rejected, rejected_score = row
    return Pair(bytes(prompt), _id_bytes(chosen), _id_bytes(rejected), chosen_score, rejected_score)


def _id_bytes(pk: UUID | str) -> bytes:
    """Return the bytes of an id that a plain database cursor returned."""
    return pk.bytes if isinstance(pk, UUID) else bytes.fromhex(pk)
