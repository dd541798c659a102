"""Compare an answer that a page shows with the real one.

Objects have the same members; one with the member `"…"` shows only some of them. Null, booleans and text are equal. In
a text, `…` matches any characters, a time for any time, and `comp_…` for any id of this kind. Of numbers only the type
counts, because durations and counts vary. A list shows its first items; an empty one is empty.
"""

import re
from collections.abc import Iterator
from typing import Any

PLACEHOLDER = re.compile(r"[a-z]+(_[a-z]+)*_…")  # of an id or a secret
REST = "…"  # a member that means: and others
SECRETS = ("at_live_…", "at_test_…", "whsec_…")
TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z")
ID = r"[0-7][0-9a-hjkmnp-tv-z]{25}"


def differences(shown: Any, actual: Any, pointer: str = "") -> list[str]:
    """Return a line for each difference, with its JSON pointer."""
    if isinstance(shown, dict) and isinstance(actual, dict):
        names = [name for name in shown if name != REST]
        absent = [f"{pointer}/{name}: the answer has no such member" for name in names if name not in actual]
        unshown = [] if REST in shown else [name for name in actual if name not in shown]
        missing = [f"{pointer}/{name}: the page lacks it: {actual[name]!r}" for name in unshown]
        both = (differences(shown[name], actual[name], f"{pointer}/{name}") for name in names if name in actual)
        return absent + missing + [line for lines in both for line in lines]
    if isinstance(shown, list) and isinstance(actual, list):
        if len(actual) < len(shown) or (actual and not shown):
            return [f"{pointer}: the page shows {len(shown)} items, the answer has {len(actual)}"]
        pairs = enumerate(zip(shown, actual, strict=False))
        return [line for index, pair in pairs for line in differences(*pair, f"{pointer}/{index}")]
    return [] if _agree(shown, actual) else [f"{pointer}: the page shows {shown!r}, the answer has {actual!r}"]


def ids(shown: Any, actual: Any) -> dict[str, str]:
    """Return {`comp_…`: the id in its place}; of several ids of a kind, the last."""
    return {name: value for name, value in _texts(shown, actual) if PLACEHOLDER.fullmatch(name) and _is_id(name, value)}


def _agree(shown: Any, actual: Any) -> bool:
    if isinstance(shown, str) and isinstance(actual, str):
        return _texts_agree(shown, actual)
    if isinstance(shown, bool) or isinstance(actual, bool) or not isinstance(shown, int | float):
        return shown is actual
    return isinstance(actual, int | float)


def _texts_agree(shown: str, actual: str) -> bool:
    if TIME.fullmatch(shown):
        return TIME.fullmatch(actual) is not None
    if PLACEHOLDER.fullmatch(shown) and shown not in SECRETS:
        return _is_id(shown, actual)
    return re.fullmatch(".+".join(map(re.escape, shown.split("…"))), actual, re.DOTALL) is not None


def _is_id(shown: str, actual: str) -> bool:
    return re.fullmatch(shown.removesuffix("…") + ID, actual) is not None


def _texts(shown: Any, actual: Any) -> Iterator[tuple[str, str]]:
    if isinstance(shown, dict) and isinstance(actual, dict):
        for name in shown:
            yield from _texts(shown[name], actual.get(name))
    elif isinstance(shown, list) and isinstance(actual, list):
        for pair in zip(shown, actual, strict=False):
            yield from _texts(*pair)
    elif isinstance(shown, str) and isinstance(actual, str):
        yield shown, actual
