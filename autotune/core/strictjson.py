"""Parses JSON from outside strictly.

Refused: text that is not UTF-8, NaN and Infinity, numbers that are not finite doubles, very long integers, a member
name twice in one object, text after the value, deep nesting, lone surrogates and U+0000. The fast pass is the C scanner
with hooks; only a refusal pays for the second pass, which finds the JSON pointer of the fault.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final, NamedTuple

BYTE_ORDER_MARK: Final = "\ufeff"
MAX_DEPTH: Final = 32
MAX_DIGITS: Final = 21
MAX_SAFE_INTEGER: Final = 2**53 - 1
MAX_POINTER: Final = 400  # characters; a longer pointer ends at the last parent that fits

_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_BAD_TEXT = re.compile("[\x00\ud800-\udfff]")


class JSONRefused(ValueError):
    """The text is not acceptable JSON.

    code     invalid_json, number_not_finite, integer_out_of_range, duplicate_key, invalid_text, too_deep
    message  one sentence for the sender of the text
    pointer  JSON pointer of the fault, "" when it concerns the whole text
    """

    def __init__(self, code: str, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer


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
    numbers = _Numbers(max_digits, safe_integers, large_as_text)
    try:
        text = str(raw, "utf-8")
    except UnicodeDecodeError as exc:
        raise JSONRefused("invalid_json", f"The text is not UTF-8 (byte {exc.start}).") from exc
    try:
        value = _decoder(numbers)(text)
    except _Fault as exc:
        raise _located(text, exc, numbers) from exc
    except JSONDecodeError as exc:
        if text.startswith(BYTE_ORDER_MARK):
            raise JSONRefused("invalid_json", "The text begins with a byte-order mark (EF BB BF). Remove it.") from exc
        raise JSONRefused("invalid_json", f"{exc.msg} (line {exc.lineno}, column {exc.colno}).") from exc
    except RecursionError as exc:
        raise JSONRefused("too_deep", "The text is nested too deeply.") from exc
    if not any_text and "\\u" in text and _SUSPECT_ESCAPE.search(text):
        _check_texts(value)
    if max_depth is not None and text.count("[") + text.count("{") > max_depth:
        _check_depth(value, max_depth, "")
    return value


class Faulty:
    """Replaces an item of a list that was refused, and holds the reason."""

    __slots__ = ("refused",)

    def __init__(self, refused: JSONRefused) -> None:
        self.refused = refused


def loads_items(raw: bytes, member: str, *, max_digits: int = MAX_DIGITS, safe_integers: bool = False) -> Any:
    """Parse a text whose `member` is a list of independent items: a fault in one item refuses only that item.

    A `Faulty` takes its place. The caller checks the depth, except for a text too deep to be parsed at all.

    raises  JSONRefused for a fault anywhere else
    """
    try:
        return loads(raw, max_depth=None, max_digits=max_digits, safe_integers=safe_integers)
    except JSONRefused as exc:
        if not exc.pointer.startswith(f"/{member}/"):
            raise
        value = _marked(str(raw, "utf-8"), _Numbers(max_digits, safe_integers))
        items = value.get(member) if type(value) is dict else None
        if type(items) is not list:
            raise
    for index, item in enumerate(items):
        if refused := _first_fault(item, f"/{member}/{index}"):
            items[index] = Faulty(refused)
    if refused := _first_fault({**value, member: []}, ""):
        raise refused
    return value


def check_free(value: Any, pointer: str, *, max_depth: int | None = MAX_DEPTH, safe_integers: bool = True) -> None:
    """Check a free-form value that `loads` has already parsed, such as metadata: its depth and its integers.

    pointer    the place of the value in its document
    max_depth  levels of lists and objects, the value itself being the first
    raises     JSONRefused with the pointer of the first fault
    """
    level: list[Any] = [value]
    depth = 0
    while level:
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is dict:
                below += node.values()
            elif kind is list:
                below += node
            elif kind is int and safe_integers and not -MAX_SAFE_INTEGER <= node <= MAX_SAFE_INTEGER:
                where = _find(value, lambda child, _: type(child) is int and abs(child) > MAX_SAFE_INTEGER, pointer)
                raise JSONRefused("integer_out_of_range", _UNSAFE, where)
        if max_depth is not None and depth >= max_depth and any(type(node) in _CONTAINERS for node in level):
            _check_depth(value, max_depth, pointer)
        level = below
        depth += 1


# --- the fast pass ---------------------------------------------------------------------------------------------------

_CONTAINERS: Final = (dict, list)
_UNSAFE = "The integer is beyond ±(2^53 − 1), which not every reader can hold. Send it as a string."


class _Fault(Exception):
    """A fault that the scanner raises, without its place."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Fault("duplicate_key", "A member name appears twice in one object.")
    return members


def _constant(name: str) -> Any:
    raise _Fault("invalid_json", f"{name} is not a JSON number.")


class _Numbers(NamedTuple):
    """The options for numbers; see `loads`."""

    max_digits: int = MAX_DIGITS
    safe_integers: bool = False
    large_as_text: bool = False

    def parse_float(self, text: str) -> float | str:
        value = float(text)
        if value - value != 0.0:
            if self.large_as_text:
                return text
            raise _Fault("number_not_finite", "The number is too large for a double.")
        return value

    def parse_int(self, text: str) -> int | str:
        if len(text) > 15:
            digits = len(text) - (text[0] == "-")
            if self.large_as_text:
                is_safe = digits <= MAX_DIGITS and -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER
                return int(text) if is_safe else text
            if digits > self.max_digits:
                raise _Fault("number_not_finite", f"The integer has more than {self.max_digits} digits.")
            if self.safe_integers and not -MAX_SAFE_INTEGER <= int(text) <= MAX_SAFE_INTEGER:
                raise _Fault("integer_out_of_range", _UNSAFE)
        return int(text)


@lru_cache(maxsize=16)
def _decoder(numbers: _Numbers) -> Callable[[str], Any]:
    return JSONDecoder(
        object_pairs_hook=_object,
        parse_constant=_constant,
        parse_float=numbers.parse_float,
        parse_int=numbers.parse_int,
    ).decode


# --- the second pass: where is the fault? ----------------------------------------------------------------------------


class _Mark:
    """Marks a fault in the parsed value. `key` is set if a member name is at fault."""

    def __init__(self, fault: _Fault, key: str | None = None) -> None:
        self.fault = fault
        self.key = key


def _located(text: str, fault: _Fault, numbers: _Numbers) -> JSONRefused:
    """Parse again with hooks that leave marks in place of faults, and name the first mark."""
    try:
        value = _marked(text, numbers)
    except JSONDecodeError as exc:
        return JSONRefused("invalid_json", f"{exc.msg} (line {exc.lineno}, column {exc.colno}).")
    except RecursionError:
        return JSONRefused("too_deep", "The text is nested too deeply.")
    return next(_marks(value, ""), None) or JSONRefused(fault.code, fault.message)


def _marked(text: str, numbers: _Numbers) -> Any:
    """Return the value with a mark in the place of each fault that the scanner can step over."""

    def lenient(parse: Callable[[str], Any]) -> Callable[[str], Any]:
        def hook(part: str) -> Any:
            try:
                return parse(part)
            except _Fault as exc:
                return _Mark(exc)

        return hook

    def pairs_hook(pairs: list[tuple[str, Any]]) -> Any:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        counts = Counter(key for key, _ in pairs)
        duplicate = next(key for key, count in counts.items() if count > 1)
        return _Mark(_Fault("duplicate_key", "A member name appears twice in one object."), duplicate)

    return JSONDecoder(
        object_pairs_hook=pairs_hook,
        parse_constant=lenient(_constant),
        parse_float=lenient(numbers.parse_float),
        parse_int=lenient(numbers.parse_int),
    ).decode(text)


def _marks(value: Any, prefix: str) -> Iterator[JSONRefused]:
    """Yield the fault of each mark in a value, with its pointer."""
    for node, _, path in _walk(value):
        if type(node) is _Mark:
            if node.key is not None:
                path = (path, node.key)
            yield JSONRefused(node.fault.code, node.fault.message, _pointer(path, prefix))


def _first_fault(value: Any, prefix: str) -> JSONRefused | None:
    """The first mark in the value, else the first text in it that cannot be stored."""
    return next(_marks(value, prefix), None) or _bad_text(value, prefix)


_Path = tuple[Any, Any] | None


def _walk(root: Any) -> Iterator[tuple[Any, int, _Path]]:
    """Every node in document order with its depth (1 for the root) and its path, a linked list from the leaf up."""
    stack: list[tuple[Any, int, _Path]] = [(root, 1, None)]
    while stack:
        entry = stack.pop()
        yield entry
        node, depth, path = entry
        if type(node) is dict:
            stack += [(child, depth + 1, (path, key)) for key, child in reversed(node.items())]
        elif type(node) is list:
            stack += [(node[i], depth + 1, (path, i)) for i in range(len(node) - 1, -1, -1)]


def _pointer(path: _Path, prefix: str = "") -> str:
    """The JSON pointer of a path, cut at a parent when it grows too long. It must be text that can be stored."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(_BAD_TEXT.sub("\ufffd", str(key)).replace("~", "~0").replace("/", "~1"))
    pointer = prefix
    for part in reversed(parts):
        if len(pointer) + 1 + len(part) > MAX_POINTER:
            break
        pointer += "/" + part
    return pointer


def _find(root: Any, is_match: Callable[[Any, int], bool], prefix: str) -> str:
    return next((_pointer(path, prefix) for node, depth, path in _walk(root) if is_match(node, depth)), prefix)


def _check_depth(value: Any, max_depth: int, prefix: str) -> None:
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(max_depth):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return
    where = _find(value, lambda node, depth: depth > max_depth and type(node) in _CONTAINERS, prefix)
    raise JSONRefused("too_deep", f"The value is nested more than {max_depth} levels deep.", where)


def _check_texts(value: Any) -> None:
    """Refuse lone surrogates and U+0000 in any string or member name."""
    bad = _BAD_TEXT.search
    level = [value]
    while level:
        below: list[Any] = []
        for node in level:
            kind = type(node)
            if kind is str:
                if bad(node):
                    raise _text_refused(value)
            elif kind is dict:
                if any(bad(key) for key in node):
                    raise _text_refused(value)
                below += node.values()
            elif kind is list:
                below += node
        level = below


def _text_refused(value: Any) -> JSONRefused:
    refused = _bad_text(value, "")
    assert refused is not None, "called for a value that holds such a text"
    return refused


def _bad_text(value: Any, prefix: str) -> JSONRefused | None:
    """The first lone surrogate or U+0000 in a string or member name."""
    for node, _, path in _walk(value):
        match = None
        if type(node) is str:
            match = _BAD_TEXT.search(node)
        elif type(node) is dict and (key := next((k for k in node if _BAD_TEXT.search(k)), None)) is not None:
            match, path = _BAD_TEXT.search(key), (path, key)
        if match is not None:
            what = "U+0000" if match.group() == "\x00" else "a surrogate without its pair"
            sentence = f"The text holds {what}, which cannot be stored."
            return JSONRefused("invalid_text", sentence, _pointer(path, prefix))
    return None
