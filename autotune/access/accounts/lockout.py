"""What the counting of failed logins (django-axes) goes by: the name that was given, and where it came from."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

NOWHERE = "0.0.0.0"  # noqa: S104 - no address to listen on: what stands for none


def login_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """Return the submitted email in lower case; for other text a digest, as it may be a password in the wrong field."""
    fields = credentials or {}
    name = str(fields.get("email") or fields.get("username") or fields.get("login") or request.POST.get("login", ""))
    name = name.strip().lower()
    if "@" in name and "\0" not in name and len(name) <= 254:
        return name
    return f"unknown:{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def address(request: HttpRequest) -> str:
    """The caller's address, as TrustedProxyMiddleware left it."""
    return request.META.get("REMOTE_ADDR") or NOWHERE
