"""The entries of graders in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry("Graders", "graders", "grader", "Judge", 10, (("endpoint_graders", "read"),)),
    NavigationEntry("Marketplace", "marketplace", "market", "Judge", 50, (("listed_graders", "read"),)),
    NavigationAct("Register a grader", "grader_new", (("endpoint_graders", "create"),)),
)
