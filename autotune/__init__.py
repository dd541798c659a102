"""The project package: what every app stands on, and the composition of the whole."""

from autotune.celery import app as celery_app

__all__ = ["celery_app"]
