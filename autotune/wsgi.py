"""WSGI entry point (gunicorn in the Procfile)."""

import logging
import os

from django.core.wsgi import get_wsgi_application

from autotune.core.logs import RedactionFilter
from autotune.site import engine

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")
for name in ("gunicorn.error", "gunicorn.access"):  # they write paths past our handlers
    logging.getLogger(name).addFilter(RedactionFilter())

application = get_wsgi_application()
engine.warn_process()

from autotune.core.crypto.starting import require_master_keys  # noqa: E402 - it reads the settings

require_master_keys("web")
