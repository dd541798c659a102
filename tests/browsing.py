"""Pages in headless Chromium, and what the tests ask of them."""

import re
from urllib.parse import urlsplit

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
SCHEMES = ("light", "dark")
LEFT = "net::ERR_ABORTED"  # what was still on its way when the page was left


def watch(page):
    """The page, which keeps what was said (errors), asked and failed: `.said`, `.asked`, `.failed`."""
    page.said, page.asked, page.failed = [], [], []
    page.on("console", lambda message: page.said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("requestfailed", lambda request: page.failed.append(request.url) if request.failure != LEFT else None)
    return page


def foreign(page, live_server):
    """What was asked of another host."""
    own = urlsplit(live_server.url).netloc
    return [url for url in page.asked if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own]


def too_wide(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def ground(page):
    """How light the ground is, 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def is_right(page, scheme):
    """Whether the ground is light in the light scheme, and dark in the dark one."""
    return ground(page) > 200 if scheme == "light" else ground(page) < 60
