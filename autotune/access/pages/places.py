"""The way back from a page of settings."""

from collections.abc import Sequence

from django.urls import reverse

from autotune.access.frame import navigation


def crumbs(*steps: tuple[str, str]) -> Sequence[dict[str, str]]:
    """(label, address) of what is between the settings and the page shown."""
    return navigation.crumbs(("Settings", reverse("settings")), *steps)
