"""Derive from a response's structure which objects a call concerned."""

from typing import Any

import msgspec
from django.http.response import HttpResponseBase

from autotune.access.audit import current_call
from autotune.access.audit.current_call import AuditedCall
from autotune.core.api.pagination import Pagination


def noted(response: HttpResponseBase) -> HttpResponseBase:
    """Note the response's object, or the number of its objects, in the current call unless a view has; return it."""
    call = current_call.current()
    if call is not None and response.status_code < 400:
        _note(call, getattr(response, "content_struct", None))
    return response


def _note(call: AuditedCall, content: Any) -> None:
    if not isinstance(content, msgspec.Struct):
        return
    for name in content.__struct_fields__:
        member = getattr(content, name)
        if isinstance(member, list):
            if call.objects_count is None and not call.object_id:
                call.objects_count = len(member)
            return
        if isinstance(member, msgspec.Struct) and not isinstance(member, Pagination):
            object_id = getattr(member, "id", None)
            if isinstance(object_id, str) and not call.object_id:
                call.object_id = object_id
            return
