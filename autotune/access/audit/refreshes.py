"""Parts of pages that refresh themselves: what htmx asks for every ten seconds is one look, and not sixty events.

The first one is noted; the same address again, by the same session in the same organization within REMEMBERED, is not.
A whole page, a change, a refusal, a call of the API, and a view that says whose texts it showed are noted each time.
"""

import hashlib
import logging
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpResponse

from autotune.access.audit.current_call import Call
from autotune.core.api.middleware import API_PREFIX

logger = logging.getLogger(__name__)
REMEMBERED: Final = timedelta(minutes=10)


def may_be(call: Call, response: HttpResponse) -> bool:
    """Whether it is a look at a part of a page, which may have been noted before."""
    request = call.request
    is_part = request.method == "GET" and request.headers.get("HX-Request") == "true"
    is_page = not request.path_info.startswith(API_PREFIX) and settings.SESSION_COOKIE_NAME in request.COOKIES
    tells_more = call.action or call.object_id or call.objects_count is not None  # than its address does
    return is_part and is_page and response.status_code < 400 and not tells_more and call.event is None


def is_known(call: Call) -> bool:
    """Whether such a look was noted not long ago. If the cache cannot say, it was not."""
    try:
        return cache.get(_key(call)) is not None
    except DatabaseError as exc:
        logger.warning("audit: the cache cannot be read: %s", exc)
        return False


def remember(call: Call) -> None:
    """This one was noted now."""
    try:
        cache.set(_key(call), True, REMEMBERED.total_seconds())
    except DatabaseError as exc:
        logger.warning("audit: the cache cannot be written: %s", exc)


def _key(call: Call) -> str:
    """Return the cache key of session, organization and address; none of them can be read from it."""
    request = call.request
    session = request.COOKIES[settings.SESSION_COOKIE_NAME]
    identity = "\n".join((session, str(call.organization_id), request.get_full_path()))
    return f"audit:look:{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()}"
