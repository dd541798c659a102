"""A browser's name for people, out of its User-Agent."""

import re

BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def named(agent: str) -> str:
    """`Firefox on Linux`; for what is no browser the first word of what it calls itself."""
    browser = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in SYSTEMS if sign in agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    word = re.match(r"[\w.-]{1,40}", agent)
    return word[0] if word else "Unknown browser"
