"""Shared parts of all admin pages, and the admin pages of the core's own tables."""

from autotune.core.admin import base, schedules  # noqa: F401 - each registers its pages
