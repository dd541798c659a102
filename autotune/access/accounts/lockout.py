"""The two keys by which django-axes counts failed logins: the login name and the caller's address."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

NOWHERE = "0.0.0.0"  # noqa: S104 - not an address to listen on: the placeholder for an unknown caller


def login_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Return the submitted email in lower case; for other text a digest, since it may be a misplaced password."""
    fields = credentials or {}
    name = str(fields.get("email") or fields.get("username") or fields.get("login") or request.POST.get("login", ""))
    name = name.strip().lower()
    if "@" in name and "\0" not in name and len(name) <= 254:
        return name
    return f"unknown:{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def address(request: HttpRequest) -> str:
    """Return the caller's address, as TrustedProxyMiddleware set it."""
    return request.META.get("REMOTE_ADDR") or NOWHERE
