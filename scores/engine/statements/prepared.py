"""Prepare results before either database stores them: ids, ciphertext, and dimensions as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from autotune.core import ids
from autotune.core.crypto.encryption import Cipher, cipher_for
from autotune.core.crypto.fields import Ciphertext, encrypted
from graders import versions
from graders.scales import UNIT, Scale
from graders.verdicts import Verdict
from scores.engine.statements import FailureToStore, VerdictToStore
from scores.models import Score, WorkflowRun

_REASONING = encrypted(Score, "reasoning")
_DETAILS = encrypted(Score, "details")
_MESSAGE = encrypted(WorkflowRun, "error_message")
MAX_MESSAGE: Final = 600  # characters


@dataclass(frozen=True, slots=True)
class PreparedScore:
    """The ids of a score and its event, its raw value, the ciphertext of the reasoning and the details, and the
    dimensions (text of a JSON list)."""

    score_id: UUID
    event_id: UUID
    raw_value: float
    reasoning: bytes | None
    details: bytes | None
    dimensions: str | None


def prepare(successes: Sequence[VerdictToStore], grader_version_id: UUID) -> list[PreparedScore]:
    """Prepare successes of one grader version: one entry for each, in order."""
    ciphers, scale = _Ciphers(), versions.scale_of(grader_version_id)
    return [_prepare(success, ciphers, scale) for success in successes]


def messages(failures: Sequence[FailureToStore]) -> list[Ciphertext | None]:
    """Encrypt the message of each failure, in order. They are encrypted because graders wrote some of them."""
    ciphers = _Ciphers()
    return [
        _MESSAGE.envelope(ciphers[failure.organization_id], failure.run_id, failure.message[:MAX_MESSAGE])
        if failure.message
        else None
        for failure in failures
    ]


class _Ciphers(dict[UUID, Cipher]):
    """The ciphers by organization, each opened once."""

    def __missing__(self, organization_id: UUID) -> Cipher:
        return self.setdefault(organization_id, cipher_for(organization_id))


def _raw_value(verdict: Verdict, scale: Scale) -> float:
    """The raw value that the grader gave, else that of its value. The database refuses a value outside 0 to 1."""
    if verdict.raw_value is not None:
        return float(verdict.raw_value)
    return verdict.value if scale == UNIT else scale.raw_of(verdict.value)


def _prepare(success: VerdictToStore, ciphers: _Ciphers, scale: Scale) -> PreparedScore:
    score_id, verdict, organization_id = ids.new(), success.verdict, success.run.organization_id
    reasoning = details = dimensions = None
    if verdict.reasoning is not None:
        reasoning = _REASONING.envelope(ciphers[organization_id], score_id, verdict.reasoning)
    if verdict.details is not None:
        details = _DETAILS.envelope(ciphers[organization_id], score_id, verdict.details)
    if verdict.dimensions is not None:
        dimensions = json.dumps(
            [
                {"name": dimension.name, "value": dimension.value, "weight": dimension.weight}
                for dimension in verdict.dimensions
            ],
            ensure_ascii=False,
        )
    return PreparedScore(score_id, ids.new(), _raw_value(verdict, scale), reasoning, details, dimensions)
