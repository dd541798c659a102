"""Report to the graders app what a grader itself said about its newest failures."""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from autotune.access.principal import Principal
from autotune.core.crypto.fields import LegibleRow
from scores.models import AttemptEvidence, WorkflowRun

NEWEST: Final = 20  # attempts of a code among which one that the reader may see is looked for


def newest(*, principal: Principal, grader_id: UUID, codes: Collection[str], **_: Any) -> dict[str, str]:
    """Receive `grader_error_texts`: return the newest text of each code, of runs that the principal may read."""
    rows = [row for code in codes for row in _newest(grader_id, code)]
    if not rows:
        return {}
    runs = WorkflowRun.objects.visible_to(principal).filter(pk__in={row.run_id for row in rows})
    readable = set(runs.values_list("pk", flat=True))
    texts: dict[str, str] = {}
    for row in rows:
        if row.run_id in readable and row.code not in texts:
            content = LegibleRow(row).content or {}
            if text := content.get("message"):
                texts[row.code] = text
    return texts


def _newest(grader_id: UUID, code: str) -> list[AttemptEvidence]:
    rows = AttemptEvidence.objects.filter(grader_id=grader_id, code=code, content__isnull=False)
    return list(rows.order_by("-pk")[:NEWEST])
