"""The breadcrumbs of the settings pages."""

from collections.abc import Sequence

from django.urls import reverse

from autotune.access.frame import navigation


def crumbs(*steps: tuple[str, str]) -> Sequence[dict[str, str]]:
    """Return the breadcrumbs of a page, from the settings through the given (label, address) steps."""
    return navigation.crumbs(("Settings", reverse("settings")), *steps)
