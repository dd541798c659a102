"""What the counting of failed logins (django-axes) goes by: the name that was given, and where it came from."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

NOWHERE = "0.0.0.0"  # noqa: S104 - no address to listen on: what stands for none


def login_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    """The email that was given, in lower case. What is no email may be a password in the wrong field: its digest."""
    given = credentials or {}
    name = str(given.get("email") or given.get("username") or given.get("login") or request.POST.get("login", ""))
    name = name.strip().lower()
    if "@" in name and "\0" not in name and len(name) <= 254:
        return name
    return f"unknown:{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:16]}"


def address(request: HttpRequest) -> str:
    """The caller's address, as TrustedProxyMiddleware left it."""
    return request.META.get("REMOTE_ADDR") or NOWHERE
