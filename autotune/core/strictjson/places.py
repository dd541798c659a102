"""Places in a parsed value: its nodes in document order, and the JSON pointers of them."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

MAX_POINTER: Final = 400  # characters; a longer pointer ends at the last parent that fits
CONTAINERS: Final = (dict, list)
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
NodePath = tuple[Any, Any] | None


def walk(root: Any) -> Iterator[tuple[Any, int, NodePath]]:
    """Every node in document order with its depth (1 for the root) and its path, a linked list from the leaf up."""
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
    """The JSON pointer of a path, cut at a parent when it grows too long. It must be text that can be stored."""
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
    """The JSON pointer of the first node that matches by value and depth; the prefix if none does."""
    return next((pointer_of(path, prefix) for node, depth, path in walk(root) if is_match(node, depth)), prefix)
