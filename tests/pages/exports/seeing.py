"""The visible text of a page."""

import html
import re


class Seen:
    def __init__(self, response):
        self.response, self.status = response, response.status_code
        self.html = response.content.decode()
        self.text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", self.html)).split())

    def __contains__(self, words):
        return words in self.text
