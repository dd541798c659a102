"""Parses JSON from outside strictly.

Refused: text that is not UTF-8, NaN and Infinity, numbers that are not finite doubles, very long integers, a member
name twice in one object, text after the value, deep nesting, lone surrogates and U+0000. The fast pass is the C scanner
with hooks; only a refusal pays for the second pass, which finds the JSON pointer of the fault.
"""

import re
from json import JSONDecodeError
from typing import Any, Final

from autotune.core.strictjson.checks import MAX_DEPTH, check_depth, check_free, check_texts
from autotune.core.strictjson.locating import first_fault, located, marked
from autotune.core.strictjson.refusals import MAX_DIGITS, FaultyItem, JSONRefused, ScanFault
from autotune.core.strictjson.scanning import NumberRules, decoder

__all__ = ["MAX_DEPTH", "FaultyItem", "JSONRefused", "check_free", "loads", "loads_items"]

BYTE_ORDER_MARK: Final = "\ufeff"
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def loads(
    raw: bytes,
    *,
    max_depth: int | None = MAX_DEPTH,
    max_digits: int = MAX_DIGITS,
    safe_integers: bool = False,
    large_as_text: bool = False,
    any_text: bool = False,
) -> Any:
    """Parse one JSON text.

    max_depth      levels of lists and objects that are allowed; None leaves depth to the caller (see `check_free`)
    max_digits     digits that an integer may have
    safe_integers  refuse integers beyond +-(2**53 - 1), which ECMAScript cannot hold
    large_as_text  take such integers, and numbers too large for a double, as the text they were written in
    any_text       take lone surrogates and U+0000, which cannot be stored
    raises         JSONRefused
    """
    numbers = NumberRules(max_digits, safe_integers, large_as_text)
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError as exc:
        raise JSONRefused("invalid_json", f"The text is not UTF-8 (byte {exc.start}).") from exc
    try:
        value = decoder(numbers)(text)
    except ScanFault as exc:
        raise located(text, exc, numbers) from exc
    except JSONDecodeError as exc:
        if text.startswith(BYTE_ORDER_MARK):
            raise JSONRefused("invalid_json", "The text begins with a byte-order mark (EF BB BF). Remove it.") from exc
        raise JSONRefused("invalid_json", f"{exc.msg} (line {exc.lineno}, column {exc.colno}).") from exc
    except RecursionError as exc:
        raise JSONRefused("too_deep", "The text is nested too deeply.") from exc
    if not any_text and "\\u" in text and _SUSPECT_ESCAPE.search(text):
        check_texts(value)
    if max_depth is not None and text.count("[") + text.count("{") > max_depth:
        check_depth(value, max_depth, "")
    return value


def loads_items(raw: bytes, member: str, *, max_digits: int = MAX_DIGITS, safe_integers: bool = False) -> Any:
    """Parse a text whose `member` is a list of independent items: a fault in one item refuses only that item.

    A `FaultyItem` takes its place. The caller checks the depth, except for a text too deep to be parsed at all.

    raises  JSONRefused for a fault anywhere else
    """
    try:
        return loads(raw, max_depth=None, max_digits=max_digits, safe_integers=safe_integers)
    except JSONRefused as exc:
        if not exc.pointer.startswith(f"/{member}/"):
            raise
        value = marked(str(raw, "utf-8"), NumberRules(max_digits, safe_integers))
        items = value.get(member) if type(value) is dict else None
        if type(items) is not list:
            raise
    for index, item in enumerate(items):
        if refused := first_fault(item, f"/{member}/{index}"):
            items[index] = FaultyItem(refused)
    if refused := first_fault({**value, member: []}, ""):
        raise refused
    return value
