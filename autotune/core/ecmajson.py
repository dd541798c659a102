"""JSON for graders and webhooks, written so that ECMAScript's JSON.stringify(JSON.parse(text)) returns the same bytes.

No spaces; members named like array indexes first, in ascending order, then the rest as given; numbers and escapes as
ECMAScript prints them. See docs/protocol/README.md, "Text that survives parsing and writing again".
"""

import re
from typing import Any, Final

import msgspec

MAX_SAFE_INTEGER: Final = 2**53 - 1
_LAST_INDEX: Final = 2**32 - 2

_encode = msgspec.json.Encoder().encode
_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})", re.ASCII)


def dumps(value: Any) -> bytes:
    """Return the UTF-8 JSON of a value made of dict (names are strings), list, tuple, str, int, float, bool and None.

    raises  ValueError for a number that is not finite, TypeError for any other kind of value
    """
    if _is_plain(value):
        try:
            return _encode(value)
        except UnicodeEncodeError:  # a lone surrogate: ECMAScript writes it as an escape
            pass
    parts: list[bytes] = []
    _write(value, parts.append)
    return b"".join(parts)


def string(text: str) -> bytes:
    """Return one JSON string with its quotes, in UTF-8."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return b'"' + b"".join(map(_escaped, re.split("([\ud800-\udfff])", text))) + b'"'


def number(value: float) -> str:
    """Return a finite number as ECMAScript's Number::toString prints it.

    raises  ValueError if the number is not finite as a double
    """
    try:
        value = float(value)
    except OverflowError as exc:
        raise ValueError("the number is not finite") from exc
    if value - value != 0.0:
        raise ValueError("the number is not finite")
    if value == 0.0:
        return "0"
    if value < 0:
        return "-" + number(-value)
    digits, point = _shortest(value)
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def _shortest(value: float) -> tuple[str, int]:
    """The shortest digits that read back as `value` (> 0), and the place of the point: 0.d1d2d3… x 10^place."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    return stripped.rstrip("0"), point - (len(digits) - len(stripped))


def _is_plain(value: Any) -> bool:
    """Whether the C encoder writes this value as ECMAScript does: no floats, no large integers, no index-like names."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER
    if kind is dict:
        for key, child in value.items():
            if type(key) is not str or "0" <= key[:1] <= "9":
                return False
            if type(child) is not str and not _is_plain(child):
                return False
        return True
    if kind is list or kind is tuple:
        return all(type(child) is str or _is_plain(child) for child in value)
    return False


def _write(value: Any, add: Any) -> None:
    if isinstance(value, str):
        add(string(value))
    elif value is None:
        add(b"null")
    elif value is True:
        add(b"true")
    elif value is False:
        add(b"false")
    elif isinstance(value, int | float):
        add(number(value).encode("ascii"))
    elif isinstance(value, dict):
        _write_object(value, add)
    elif isinstance(value, list | tuple):
        add(b"[")
        for place, child in enumerate(value):
            if place:
                add(b",")
            _write(child, add)
        add(b"]")
    else:
        raise TypeError(f"{type(value).__name__} has no JSON form")


def _write_object(value: dict[str, Any], add: Any) -> None:
    separator = b"{"
    for name in _ordered(value):
        add(separator)
        add(string(name))
        add(b":")
        _write(value[name], add)
        separator = b","
    add(b"{}" if separator == b"{" else b"}")


def _ordered(value: dict[str, Any]) -> list[str]:
    indexes: list[str] = []
    rest: list[str] = []
    for name in value:
        if not isinstance(name, str):
            raise TypeError("member names must be strings")
        (indexes if _INDEX.fullmatch(name) and int(name) <= _LAST_INDEX else rest).append(name)
    indexes.sort(key=int)
    return indexes + rest


def _escaped(part: str) -> bytes:
    if len(part) == 1 and "\ud800" <= part <= "\udfff":
        return b"\\u%04x" % ord(part)
    return _encode(part)[1:-1]
