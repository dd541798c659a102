"""HTML without the whitespace that the layout of a template leaves around tags."""

import re


def compact(html: str) -> str:
    """Remove whitespace before and after each tag, so that a test can compare elements with their text."""
    return re.sub(r"\s*(<[^<>]*>)\s*", r"\1", html)
