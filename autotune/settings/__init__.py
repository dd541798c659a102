"""Settings, read from the environment and safe when it is empty. Every variable is documented in `.env.example`."""

from autotune.settings.base import *  # noqa: F403
from autotune.settings.celery import *  # noqa: F403
from autotune.settings.people import *  # noqa: F403
from autotune.settings.server import *  # noqa: F403
