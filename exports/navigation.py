"""The entries of exports and preference pairs in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry("Exports", "exports", "export", "Train", 10, (("exports", "read"),)),
    NavigationEntry("Preference pairs", "pairs", "pair", "Train", 20, (("preference_pairs", "read"),)),
    NavigationAct("Export scores", "export_new", (("exports", "create"),)),
)
