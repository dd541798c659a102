"""People at a running server, each in a browser of their own: they log in by the form and come by invitation."""

import re

from playwright.sync_api import expect

from tests.support.browsing import DESK, PATIENCE_MS, launched, watch
from tests.support.concurrency import until

PASSWORD = "a long sentence about herons"


class House:
    """A server, and the browser in which people visit it."""

    def __init__(self, server, playwright, chromium):
        self.server = server
        self.url = f"http://localhost:{server.env['PORT']}"
        self.browser = launched(playwright, chromium)

    def stranger(self):
        """A page of somebody who is not logged in."""
        context = self.browser.new_context(
            viewport=DESK, base_url=self.url, permissions=["clipboard-read", "clipboard-write"]
        )
        context.set_default_timeout(PATIENCE_MS)
        return watch(context.new_page())

    def enter(self, email, password=PASSWORD):
        """A page of somebody who has logged in."""
        page = self.stranger()
        page.goto("/account/login")
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Log in", exact=True).click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        return page

    def admin(self):
        return self.enter(self.server.admin["adminEmail"], self.server.admin["adminPassword"])

    def invite(self, page, email, role):
        """Somebody who may invite does so; the link of the mail."""
        page.goto("/settings/members")
        page.get_by_role("link", name="Invite a person").click()
        page.get_by_label("Email").fill(email)
        page.get_by_label("Role").select_option(label=role)
        page.get_by_role("button", name="Send the invitation").click()
        expect(page.get_by_role("link", name=email)).to_be_visible()
        return until(lambda: self._mailed(email))

    def accept(self, link, name):
        """The invited person creates an account: their page, logged in."""
        page = self.stranger()
        page.goto(link)
        page.get_by_label("Your name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Create the account and join").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        return page

    def _mailed(self, email):
        """The link of the newest mail to somebody. Where no mail server is named, mails are written into the log."""
        mails = self.server.tree.log_of("web").read_text().split("Subject: ")
        links = [re.search(r"http://\S+/invitations/\S+", mail) for mail in mails if f"\nTo: {email}\n" in mail]
        return links[-1][0] if links and links[-1] else None
