"""Name a form's act as the API names it, so that the audit log has one name for it, however it was done."""

from collections.abc import Sequence

from autotune.access.audit import current_call
from autotune.core.api.operations import SAFE_METHODS


def concerns(resource: str, verb: str, object_id: str = "", *, fields: Sequence[str] | None = None) -> None:
    """Name the request's act before it is done, so that a rejected one has the name too; do nothing for a GET."""
    call = current_call.current()
    if call is None or call.request.method in SAFE_METHODS:
        return
    call.action, call.resource = f"{resource}.{verb}", resource
    current_call.about(object_id, fields=fields)
