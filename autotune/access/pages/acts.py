"""What a page's form does, in the words of the API: one thing has one name in the audit trail, however it was done."""

from collections.abc import Sequence

from autotune.access.audit import current_call
from autotune.core.api.operations import SAFE_METHODS


def concerns(resource: str, verb: str, object_id: str = "", *, fields: Sequence[str] | None = None) -> None:
    """Name the act at hand before it is done, so that a refusal has the name too. A look at the form is no act."""
    call = current_call.current()
    if call is None or call.request.method in SAFE_METHODS:
        return
    call.action, call.resource = f"{resource}.{verb}", resource
    current_call.about(object_id, fields=fields)
