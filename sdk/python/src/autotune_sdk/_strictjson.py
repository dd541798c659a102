"""Parse JSON strictly: reject what RFC 8259 leaves open, so that all parsers agree on the value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 32
MAX_DIGITS = 21
ODD_ESCAPE = re.compile(r"\\u(0000|[dD][89a-fA-F])")
LONE = re.compile("[\x00\ud800-\udfff]")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class JSONRefused(ValueError):
    """Raised for rejected text. code: invalid_json, number_not_finite, duplicate_key, invalid_text or too_deep."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def loads(raw: bytes, *, max_depth: int = MAX_DEPTH) -> Any:
    """Parse UTF-8 JSON text without a byte-order mark.

    raises  JSONRefused for NaN and Infinity, numbers beyond a double, integers of more than 21 digits, a repeated name
            in an object, text after the value, more than `max_depth` levels, lone surrogates and U+0000
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise JSONRefused("invalid_json", f"not UTF-8 at byte {exc.start}") from None
    if raw.startswith(BYTE_ORDER_MARK):
        raise JSONRefused("invalid_json", "begins with a byte-order mark (EF BB BF)")
    try:
        value = DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise JSONRefused("invalid_json", f"{exc.msg} at character {exc.pos}") from None
    except RecursionError:
        raise JSONRefused("too_deep", f"more than {max_depth} levels") from None
    if text.count("[") + text.count("{") > max_depth and depth(value) > max_depth:
        raise JSONRefused("too_deep", f"more than {max_depth} levels")
    if ODD_ESCAPE.search(text) and any(LONE.search(s) for s in _strings(value)):
        raise JSONRefused("invalid_text", "a text holds U+0000 or a lone surrogate")
    return value


def depth(value: Any) -> int:
    """Return the levels of lists and objects in a parsed value; 0 for a scalar."""
    deepest, level = 0, [value]
    while level := [v for v in level if isinstance(v, (dict, list))]:
        deepest += 1
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
    return deepest


def _strings(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, str):
            yield v
        elif isinstance(v, dict):
            stack += v.keys()
            stack += v.values()
        elif isinstance(v, list):
            stack += v


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JSONRefused("duplicate_key", f"the name {twice!r} occurs twice in one object")
    return members


def _constant(name: str) -> None:
    raise JSONRefused("invalid_json", f"{name} is not JSON")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS and len(text.lstrip("-")) > MAX_DIGITS:
        raise JSONRefused("number_not_finite", f"an integer of more than {MAX_DIGITS} digits")
    return int(text)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JSONRefused("number_not_finite", "a number beyond the range of a double")
    return number


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_number)
