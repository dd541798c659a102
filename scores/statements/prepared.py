"""What both bodies make of a success before it is stored: ids, ciphertext, dimensions as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from autotune.core import ids
from autotune.core.encryption import Cipher, cipher_for
from autotune.core.fields import encrypted
from scores.models import Score
from scores.statements import Success

_REASONING = encrypted(Score, "reasoning")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The ids of a score and its event, the ciphertext of the reasoning, the dimensions (text of a JSON list)."""

    score_id: UUID
    event_id: UUID
    reasoning: bytes | None
    dimensions: str | None


def prepare(successes: Sequence[Success]) -> list[Prepared]:
    """One entry for each success, in order."""
    ciphers: dict[UUID, Cipher] = {}
    return [_prepare(success, ciphers) for success in successes]


def _prepare(success: Success, ciphers: dict[UUID, Cipher]) -> Prepared:
    score_id, verdict, organization_id = ids.new(), success.verdict, success.run.organization_id
    reasoning = None
    if verdict.reasoning is not None:
        if organization_id not in ciphers:
            ciphers[organization_id] = cipher_for(organization_id)
        reasoning = _REASONING.envelope(ciphers[organization_id], score_id, verdict.reasoning)
    dimensions = None
    if verdict.dimensions is not None:
        dimensions = json.dumps(
            [{"name": one.name, "value": one.value, "weight": one.weight} for one in verdict.dimensions],
            ensure_ascii=False,
        )
    return Prepared(score_id, ids.new(), reasoning, dimensions)
