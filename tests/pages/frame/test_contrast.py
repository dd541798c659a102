"""The tokens' colours can be read: WCAG 2.2 contrast of each pair that is used, in the light and the dark scheme."""

import re
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings

CSS = Path(settings.BASE_DIR) / "static/css"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
GROUNDS = ("ground", "card", "raised", "code", "hover")
TEXT = (
    *product(("ink", "faint"), GROUNDS),
    *product(("accent",), ("ground", "card", "raised", "hover", "accent-ground")),
    *product(("good", "warn", "bad", "busy"), ("card", "ground")),
    *((tone, f"{tone}-ground") for tone in ("good", "warn", "bad", "busy")),
    *(("ink", f"{tone}-ground") for tone in ("good", "warn", "bad", "busy", "accent")),
    ("on-accent", "accent"),
    ("on-bad", "bad"),
)
PARTS = (
    *product(("edge",), ("ground", "card", "raised")),
    *product(("accent",), GROUNDS),
    *product((f"series-{number}" for number in range(1, 7)), ("card", "ground")),
)


def tokens():
    pairs = PAIR.findall((CSS / "tokens.css").read_text())
    return {"light": {name: light for name, light, _ in pairs}, "dark": {name: dark for name, _, dark in pairs}}


def luminance(colour):
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first, second):
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_is_computed_correctly():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("least", "pairs"), [(4.5, TEXT), (3.0, PARTS)])
def test_colours_used_together_have_enough_contrast(scheme, least, pairs):
    colours = tokens()[scheme]
    measured = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: round(value, 2) for pair, value in measured.items() if value < least} == {}


OWN = ("base", "frame", "parts", "site", "site/overviews", "access/accounts")


@pytest.mark.parametrize("name", OWN)
def test_colours_are_defined_only_in_the_tokens(name):
    text = re.sub(r"/\*.*?\*/", "", (CSS / f"{name}.css").read_text(), flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{}]*[;}])", text) == []
