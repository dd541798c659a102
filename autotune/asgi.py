"""ASGI entry point, for hosts that support only ASGI; the views are synchronous."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")

application = get_asgi_application()

from autotune.core.crypto.starting import require_master_keys  # noqa: E402 - it reads the settings

require_master_keys("web")
