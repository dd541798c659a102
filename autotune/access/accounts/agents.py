"""Derive a readable browser name from a User-Agent header."""

import re

BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def named(agent: str) -> str:
    """Return a name such as `Firefox on Linux`; for an unknown agent, the first word of the header."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in SYSTEMS if sign in agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    word = re.match(r"[\w.-]{1,40}", agent)
    return word[0] if word else "Unknown browser"
