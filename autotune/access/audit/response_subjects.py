"""What an answer says of the objects that a call concerned, read from its shape."""

from typing import Any

import msgspec
from django.http.response import HttpResponseBase

from autotune.access.audit import current_call
from autotune.access.audit.current_call import Call
from autotune.core.api.pagination import Pagination


def noted(response: HttpResponseBase) -> HttpResponseBase:
    """The response, once the call at hand knows the object that it tells of, or how many. What a view said counts."""
    call = current_call.current()
    if call is not None and response.status_code < 400:
        _note(call, getattr(response, "content_struct", None))
    return response


def _note(call: Call, content: Any) -> None:
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
