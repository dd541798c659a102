"""Checks of `manage.py check --deploy` for settings that contradict each other."""

from typing import Any, Final

from django.conf import settings
from django.core import checks

NO_PROXY: Final = checks.Warning(
    "AUTOTUNE_PUBLIC_URL is an https address, and AUTOTUNE_TRUSTED_PROXIES names no proxy.",
    hint="Name the network of the proxy that ends TLS, such as 10.0.0.0/8. Without it, Autotune ignores "
    "X-Forwarded-Proto and redirects every request to https without end.",
    id="autotune.W001",
)


def trusted_proxies(**_: Any) -> list[checks.CheckMessage]:
    """Warn if no proxy is trusted: TLS ends at a proxy before `web`, which speaks only http."""
    return [NO_PROXY] if settings.HTTPS and not settings.AUTOTUNE_TRUSTED_PROXIES else []
