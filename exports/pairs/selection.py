"""Select preference pairs: two answers to the same prompt of a task, with different rewards.

Equal answers count as one, with its newest reward. Rewards that differ only by a rounding error count as equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID

from exports.pairs.statement import PairStatement
from exports.requests import MAX_CAP

BEST_WORST: Final = "best_worst"
CAPS: Final = {BEST_WORST: 1, "all": MAX_CAP, "random": 1}  # the default for each strategy
ROUNDING: Final = 1e-9  # 0.3 - 0.1 is slightly less than 0.2 and must still count as 0.2


class Pair(NamedTuple):
    """The ids of two completions, 16 bytes each, and their rewards. `chosen` has the higher one."""

    prompt: bytes
    chosen: bytes
    rejected: bytes
    chosen_score: float
    rejected_score: float


@dataclass(frozen=True, slots=True)
class PairChoice:
    """Which pairs to select from the answers to a prompt.

    strategy         `best_worst`: one pair, of the highest and the lowest reward. `all`: every two answers.
                     `random`: up to `cap` pairs, drawn with `seed`
    min_score_delta  minimum difference between the two rewards
    cap              maximum number of pairs; if more are possible, an evenly spaced selection of them
    """

    strategy: str = BEST_WORST
    min_score_delta: float = 0.0
    cap: int | None = None
    seed: int = 0

    @property
    def max_pairs(self) -> int:
        """The maximum number of pairs for each prompt."""
        return 1 if self.strategy == BEST_WORST else self.cap or CAPS[self.strategy]

    def statement(self, rewarded: Any) -> PairStatement:
        """Return the SQL that selects the pairs from `rewarded`, a queryset of completions of one task."""
        completions = rewarded.filter(reward__value__isnull=False, prompt_digest__gt=b"").order_by()
        return PairStatement(
            completions.values_list("prompt_digest", "answer_digest", "id", "reward__value"),
            gap=max(self.min_score_delta - ROUNDING, ROUNDING),
            cap=self.max_pairs,
            seed=str(self.seed) if self.strategy == "random" else None,
        )


def count(rewarded: Any, choice: PairChoice) -> int:
    """Return the number of pairs among the completions."""
    return choice.statement(rewarded).count()


def of(rewarded: Any, choice: PairChoice) -> list[Pair]:
    """Return all pairs, ordered by prompt, then by the ids of their completions."""
    return [_pair(row) for row in choice.statement(rewarded).whole()]


def sample(rewarded: Any, choice: PairChoice, size: int) -> tuple[list[Pair], int]:
    """Return up to `size` pairs, drawn with the seed and spread evenly over prompts, and the number of all pairs."""
    pairs, available = [], 0
    for available, *row in choice.statement(rewarded).drawn(size, str(choice.seed)):  # noqa: B007
        pairs.append(_pair(row))
    return pairs, available


def _pair(row: Sequence[Any]) -> Pair:
    prompt, chosen, chosen_score, rejected, rejected_score = row
    return Pair(bytes(prompt), _id_bytes(chosen), _id_bytes(rejected), chosen_score, rejected_score)


def _id_bytes(pk: UUID | str) -> bytes:
    """Return an id as bytes. A cursor returns it as a UUID on PostgreSQL, and as hexadecimal text on SQLite."""
    return pk.bytes if isinstance(pk, UUID) else bytes.fromhex(pk)
