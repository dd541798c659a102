"""What becomes of the items of a submission: each is stored or refused."""

from dataclasses import dataclass
from uuid import UUID

from autotune.core.errors import FieldError


@dataclass(slots=True)
class StoredItem:
    """An item that is stored, by this request or an earlier one. The scoring runs come first in `run_ids`."""

    index: int
    completion_id: UUID
    external_id: str | None
    run_ids: list[UUID]
    existing: bool = False


@dataclass(slots=True)
class RefusedItem:
    """An item that is not stored, with the status that it would have as a single completion."""

    index: int
    status: int
    error: FieldError
