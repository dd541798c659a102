"""What all pages of the administration share, and the pages of the core's own tables."""

from autotune.core.admin import base  # noqa: F401 - registers the pages
