"""Pages in headless Chromium, and what the tests ask of them."""

import os
import re
import shutil
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

PATIENCE_MS = 30_000  # as long as a page, or a worker behind it, may take on a busy machine
expect.set_options(timeout=PATIENCE_MS)
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
SCHEMES = ("light", "dark")
SERIOUS = {"serious", "critical"}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]  # 2.2 AA
LEFT = "net::ERR_ABORTED"  # what was still on its way when the page was left
SHIFTS = """
  window.shifts = [];
  const note = (list) => {
    for (const one of list.getEntries()) {
      if (one.hadRecentInput) continue;
      const moved = one.sources.map((source) => source.node?.outerHTML ?? source.node?.textContent ?? "what is gone");
      window.shifts.push({ value: one.value, moved: moved.map((text) => text.trim().slice(0, 120)) });
    }
  };
  window.noteShifts = new PerformanceObserver(note);
  window.noteShifts.observe({ type: "layout-shift", buffered: true });
  window.painted = new Promise((done) => new PerformanceObserver(done).observe({ type: "paint", buffered: true }));
  window.settled = async () => {
    for (let at = 0; at < 3; at += 1) await new Promise(requestAnimationFrame);
    note({ getEntries: () => window.noteShifts.takeRecords() });
    return window.shifts;
  };
"""


def installed():
    """The path of the browser: that of CHROMIUM, or the one of the system. The shell starts in half the time."""
    named = os.environ.get("CHROMIUM")
    return named or shutil.which("chromium-headless-shell") or shutil.which("chromium") or "/usr/bin/chromium"


def launched(playwright, path):
    """A browser of playwright; the caller closes it."""
    return playwright.chromium.launch(executable_path=path, args=FLAGS)


def watch(page):
    """Return the page, which keeps `console_errors`, `requested_urls` and `failed_urls`."""
    page.console_errors, page.requested_urls, page.failed_urls = [], [], []
    page.on("console", lambda message: page.console_errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.console_errors.append(str(error)))
    page.on("request", lambda request: page.requested_urls.append(request.url))
    page.on("requestfailed", lambda request: page.failed_urls.append(request.url) if request.failure != LEFT else None)
    return page


def foreign(page, live_server):
    """The requests to another host."""
    own = urlsplit(live_server.url).netloc
    return [
        url
        for url in page.requested_urls
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != own
    ]


def too_wide(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def ground(page):
    """How light the ground is, 0 to 255."""
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 3


def is_right(page, scheme):
    """Whether the ground is light in the light scheme, and dark in the dark one."""
    return ground(page) > 200 if scheme == "light" else ground(page) < 60


def violations(page):
    """What axe finds of WCAG 2.2 A and AA, serious or critical, as lines."""
    options = {"runOnly": {"type": "tag", "values": WCAG}, "resultTypes": ["violations"]}
    for violation in Axe().run(page, options=options).response["violations"]:
        if violation["impact"] in SERIOUS:
            yield f"axe {violation['id']}: {violation['nodes'][0]['html'][:160]}"


class LateScripts:
    """Opens pages whose scripts come after the first paint, as over a slow line, so that what they move is recorded."""

    def __init__(self, page):
        self.page, self._held = page, None
        page.add_init_script(SHIFTS)
        page.route(re.compile(r"\.js(\?|$)"), self._met)

    def _met(self, route):
        if self._held is None:
            route.continue_()
        else:
            self._held.append(route)

    def goto(self, path):
        """The answer; returns when the page is loaded."""
        self._held = []
        answer = self.page.goto(path, wait_until="commit")
        self.page.evaluate("window.painted")
        held, self._held = self._held, None
        for route in held:
            route.continue_()
        self.page.wait_for_load_state("networkidle")
        return answer

    def shifts(self):
        """[{value, moved}] since the page was opened: each share of the window that moved by itself, and what did."""
        return self.page.evaluate("window.settled()")
