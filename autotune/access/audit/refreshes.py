"""Record repeated refreshes of a page's parts only once, since htmx requests some every ten seconds.

The first request is recorded; the same address again, by the same session in the same organization within REMEMBERED,
is not. A whole page, a change, an error, an API call, and a view that names the objects it showed are recorded each
time.
"""

import hashlib
import logging
from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError
from django.http import HttpResponse

from autotune.access.audit.current_call import AuditedCall
from autotune.core.api.middleware import API_PREFIX

logger = logging.getLogger(__name__)
REMEMBERED: Final = timedelta(minutes=10)


def may_be(call: AuditedCall, response: HttpResponse) -> bool:
    """Return whether the request reads a part of a page, so that it may repeat a recorded one."""
    request = call.request
    is_part = request.method == "GET" and request.headers.get("HX-Request") == "true"
    is_page = not request.path_info.startswith(API_PREFIX) and settings.SESSION_COOKIE_NAME in request.COOKIES
    says_more = call.action or call.object_id or call.objects_count is not None  # than its address does
    return is_part and is_page and response.status_code < 400 and not says_more and call.event is None


def is_known(call: AuditedCall) -> bool:
    """Return whether the same request was recorded recently. False if the cache is unavailable."""
    try:
        return cache.get(_key(call)) is not None
    except DatabaseError as exc:
        logger.warning("audit: the cache cannot be read: %s", exc)
        return False


def remember(call: AuditedCall) -> None:
    """Remember that the request was recorded now."""
    try:
        cache.set(_key(call), True, REMEMBERED.total_seconds())
    except DatabaseError as exc:
        logger.warning("audit: the cache cannot be written: %s", exc)


def _key(call: AuditedCall) -> str:
    """Return the cache key of session, organization and address; none of them can be read from it."""
    request = call.request
    session = request.COOKIES[settings.SESSION_COOKIE_NAME]
    identity = "\n".join((session, str(call.organization_id), request.get_full_path()))
    return f"audit:refresh:{hashlib.sha256(identity.encode('utf-8', 'replace')).hexdigest()}"
