"""Reading a chart's drawings, as a browser would."""

from html.parser import HTMLParser
from xml.etree import ElementTree

HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202egnp.exe\u202c", "\u2069\u202eabc", "&lt;b&gt;",
    "x" * 10_000, "👩‍👩‍👧‍👦🏳️‍🌈 é", "a\nb\tc", "שלום", "' onload='alert(1)", "]]></svg><svg onload=alert(1)>",
]  # fmt: skip


def drawings(chart):
    """Its svg elements, narrow first; each is well formed."""
    return list(ElementTree.fromstring(f"<all>{chart.svg}</all>"))


def classed(svg, name, tag=None):
    """Elements of a class, in the order of the document."""
    return [e for e in svg.iter(tag) if name in e.get("class", "").split()]


def titles(svg):
    """All titles within."""
    return [e.text for e in svg.iter("title")]


def words(svg, name="chart-text"):
    """The shown text of each element of that class."""
    return [e.text for e in classed(svg, name)]


class Page(HTMLParser):
    """What a page holds: its tags with their attributes, and the texts of its table cells."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.cells, self.cell = [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cells.append(self.cell)
            self.cell = None

    def all(self, attribute):
        return [attrs[attribute] for _, attrs in self.tags if attribute in attrs]
