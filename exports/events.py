"""The example payload of the webhook event `export.completed`."""

from typing import Any
from uuid import UUID

from autotune.webhooks.events import payloads
from autotune.webhooks.states import EventKind
from exports.models import Export
from exports.states import ExportStatus
from exports.work import ending


def register() -> None:
    payloads.register_example(EventKind.EXPORT_COMPLETED, example)


def example(organization_id: UUID) -> dict[str, Any]:
    """Build the event of a completed export."""
    return ending.build_payload(
        Export(organization_id=organization_id, status=ExportStatus.COMPLETED, rows=9_412, sha256="3b" * 32)
    )
