"""The entries of webhooks in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry(
        "Webhooks", "webhooks", "webhook", "Settings", 50, (("webhooks", "read"),),
        about="Addresses that receive events, and the deliveries to them.",
    ),
    NavigationAct("Add a webhook", "webhook_new", (("webhooks", "create"),)),
)  # fmt: skip
