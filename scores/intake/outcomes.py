"""What becomes of the items of a submission: each is stored or refused."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from autotune.core.errors import FieldError
from scores.intake.drafts import CompletionDraft
from tasks.states import CompletionSource


@dataclass(slots=True)
class FreshCompletion:
    """A completion that this request stores: what its row holds beside its ids."""

    draft: CompletionDraft
    task_version_id: UUID
    source: CompletionSource
    created_at: datetime


@dataclass(slots=True)
class StoredItem:
    """An item that is stored, by this request or an earlier one. The scoring runs come first in `run_ids`.

    fresh  None for an item that an earlier request stored
    """

    index: int
    completion_id: UUID
    external_id: str | None
    run_ids: list[UUID]
    fresh: FreshCompletion | None = None


@dataclass(slots=True)
class RefusedItem:
    """An item that is not stored, with the status that it would have as a single completion."""

    index: int
    status: int
    error: FieldError
