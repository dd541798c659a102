"""Walk the nodes of a parsed JSON value, and make the JSON pointers that name them in errors."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

MAX_POINTER: Final = 400  # characters; a longer pointer is cut after the last parent that fits
CONTAINERS: Final = (dict, list)
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")  # PostgreSQL stores neither NUL nor lone surrogates
NodePath = tuple[Any, Any] | None  # (path of the parent, key or index); None for the root


def walk(root: Any) -> Iterator[tuple[Any, int, NodePath]]:
    """Yield every node in document order, with its depth (1 for the root) and its path."""
    stack: list[tuple[Any, int, NodePath]] = [(root, 1, None)]
    while stack:
        entry = stack.pop()
        yield entry
        node, depth, path = entry
        if type(node) is dict:
            stack += [(child, depth + 1, (path, key)) for key, child in reversed(node.items())]
        elif type(node) is list:
            stack += [(node[i], depth + 1, (path, i)) for i in range(len(node) - 1, -1, -1)]


def pointer_of(path: NodePath, prefix: str = "") -> str:
    """Return the JSON pointer of a path, at most MAX_POINTER long. Characters that cannot be stored are replaced."""
    parts: list[str] = []
    while path is not None:
        path, key = path
        parts.append(UNSTORABLE.sub("\ufffd", str(key)).replace("~", "~0").replace("/", "~1"))
    pointer = prefix
    for part in reversed(parts):
        if len(pointer) + 1 + len(part) > MAX_POINTER:
            break
        pointer += "/" + part
    return pointer


def find_pointer(root: Any, is_match: Callable[[Any, int], bool], prefix: str) -> str:
    """Return the JSON pointer of the first node for which `is_match(node, depth)` is true; else the prefix."""
    return next((pointer_of(path, prefix) for node, depth, path in walk(root) if is_match(node, depth)), prefix)
