"""What `manage.py check --deploy` says about settings that do not go together."""

from typing import Any, Final

from django.conf import settings
from django.core import checks

NO_PROXY: Final = checks.Warning(
    "AUTOTUNE_PUBLIC_URL is an https address, and AUTOTUNE_TRUSTED_PROXIES names no proxy.",
    hint="Name the network of the proxy that ends TLS, such as 10.0.0.0/8. Without it X-Forwarded-Proto is not "
    "believed, and every request is redirected to https without end.",
    id="autotune.W001",
)


def trusted_proxies(**_: Any) -> list[checks.CheckMessage]:
    """TLS ends at a proxy before `web`, which speaks http itself."""
    return [NO_PROXY] if settings.HTTPS and not settings.AUTOTUNE_TRUSTED_PROXIES else []
