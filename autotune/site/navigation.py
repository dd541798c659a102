"""The first entry of the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationEntry

PLACES: Final = (NavigationEntry("Overview", "home", "home", "", 10),)
