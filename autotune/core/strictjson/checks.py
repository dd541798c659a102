"""Checks of a parsed value: its depth, its integers, and text that cannot be stored."""

from typing import Any, Final

from autotune.core.strictjson.places import CONTAINERS, UNSTORABLE, find_pointer, pointer_of, walk
from autotune.core.strictjson.refusals import MAX_SAFE_INTEGER, UNSAFE, JSONRefused

MAX_DEPTH: Final = 32


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
                where = find_pointer(
                    value, lambda child, _: type(child) is int and abs(child) > MAX_SAFE_INTEGER, pointer
                )
                raise JSONRefused("integer_out_of_range", UNSAFE, where)
        if max_depth is not None and depth >= max_depth and any(type(node) in CONTAINERS for node in level):
            check_depth(value, max_depth, pointer)
        level = below
        depth += 1


def check_depth(value: Any, max_depth: int, prefix: str) -> None:
    """Refuse a value with more levels of lists and objects than `max_depth`, with the pointer of the first."""
    level = [value] if type(value) in CONTAINERS else []
    for _ in range(max_depth):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) in CONTAINERS
        ]
        if not level:
            return
    where = find_pointer(value, lambda node, depth: depth > max_depth and type(node) in CONTAINERS, prefix)
    raise JSONRefused("too_deep", f"The value is nested more than {max_depth} levels deep.", where)


def check_texts(value: Any) -> None:
    """Refuse lone surrogates and U+0000 in any string or member name."""
    bad = UNSTORABLE.search
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
    refused = unstorable_text(value, "")
    assert refused is not None, "called for a value that holds such a text"
    return refused


def unstorable_text(value: Any, prefix: str) -> JSONRefused | None:
    """The first lone surrogate or U+0000 in a string or member name."""
    for node, _, path in walk(value):
        match = None
        if type(node) is str:
            match = UNSTORABLE.search(node)
        elif type(node) is dict and (key := next((k for k in node if UNSTORABLE.search(k)), None)) is not None:
            match, path = UNSTORABLE.search(key), (path, key)
        if match is not None:
            what = "U+0000" if match.group() == "\x00" else "a surrogate without its pair"
            sentence = f"The text holds {what}, which cannot be stored."
            return JSONRefused("invalid_text", sentence, pointer_of(path, prefix))
    return None
