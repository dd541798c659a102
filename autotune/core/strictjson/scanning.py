"""The fast pass: the C scanner with hooks finds that there is a fault; `locating` finds where, in a second pass."""

import re
from collections.abc import Callable
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, NamedTuple

from autotune.core.strictjson.checks import MAX_DEPTH, check_depth, check_texts
from autotune.core.strictjson.locating import first_fault, located, marked
from autotune.core.strictjson.refusals import MAX_DIGITS, MAX_SAFE_INTEGER, UNSAFE, FaultyItem, JSONRefused, ScanFault

BYTE_ORDER_MARK: Final = "\ufeff"
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ScanFault("duplicate_key", "A member name appears twice in one object.")
    return members


class NumberRules(NamedTuple):
    """The options for numbers; see `loads`."""

    max_digits: int = MAX_DIGITS
    safe_integers: bool = False
    large_as_text: bool = False

    def parse_float(self, text: str) -> float | str:
        value = float(text)
        if value - value != 0.0:
            if self.large_as_text:
                return text
            raise ScanFault("number_not_finite", "The number is too large for a double.")
        return value

    def parse_int(self, text: str) -> int | str:
        if len(text) > 15:
            digits = len(text) - (text[0] == "-")
            if self.large_as_text:
                is_safe = digits <= MAX_DIGITS and -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER
                return int(text) if is_safe else text
            if digits > self.max_digits:
                raise ScanFault("number_not_finite", f"The integer has more than {self.max_digits} digits.")
            if self.safe_integers and not -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER:
                raise ScanFault("integer_out_of_range", UNSAFE)
        return int(text)

    def parse_constant(self, name: str) -> Any:
        """Refuse NaN, Infinity and -Infinity, which Python's scanner takes."""
        raise ScanFault("invalid_json", f"{name} is not a JSON number.")


@lru_cache(maxsize=16)
def decoder(numbers: NumberRules) -> Callable[[str], Any]:
    """Return the function that parses a text by these rules; it raises ScanFault and JSONDecodeError."""
    return JSONDecoder(
        object_pairs_hook=_members,
        parse_constant=numbers.parse_constant,
        parse_float=numbers.parse_float,
        parse_int=numbers.parse_int,
    ).decode


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
