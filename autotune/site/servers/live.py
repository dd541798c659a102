"""The process `live` of the Procfile: it answers reward endpoints, at which thousands of calls wait at once."""

import logging
import os
from typing import Any

import django
from django.conf import settings

from autotune.core.logs import RedactionFilter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")
django.setup()
for _name in ("uvicorn.error", "uvicorn.access", "uvicorn.asgi"):  # they write paths past our handlers
    logging.getLogger(_name).addFilter(RedactionFilter())

from django.middleware.security import SecurityMiddleware  # noqa: E402 - they read the settings

from autotune.core import garbage  # noqa: E402
from autotune.core.api.middleware import (  # noqa: E402
    BodyMiddleware,
    HeadersMiddleware,
    RequestIdMiddleware,
    TrustedProxyMiddleware,
)
from autotune.core.crypto.starting import require_master_keys  # noqa: E402
from autotune.site import engine  # noqa: E402
from autotune.site.servers.live_connections import raise_limits  # noqa: E402
from scores.live.asgi import LiveApplication  # noqa: E402

require_master_keys("live")


class LiveSecurityMiddleware(SecurityMiddleware):
    """Redirect plain http only if the URLs of reward endpoints are https: a private network may use http."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.redirect = self.redirect and settings.LIVE_URL.startswith("https://")


engine.warn_process()
application = LiveApplication(
    [RequestIdMiddleware, TrustedProxyMiddleware, LiveSecurityMiddleware, HeadersMiddleware, BodyMiddleware]
)
raise_limits()
garbage.settle()
