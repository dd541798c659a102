"""The project package: the shared code of all apps, the settings and the routes."""

from autotune.celery import app as celery_app

__all__ = ["celery_app"]
