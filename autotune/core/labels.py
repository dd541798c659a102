"""Labels of roles, resources and codes: how every page and mail writes them. The API keeps its codes.

A wing whose word reads badly without its underscores registers a better label when the apps are ready.
"""

import re
from collections.abc import Mapping
from typing import Final

_CODE: Final = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+\Z")
_labels: dict[str, str] = {}
_resources: dict[str, str] = {}


def register(labels: Mapping[str, str]) -> None:
    """Add labels of codes, by code."""
    _labels.update(labels)


def register_resources(labels: Mapping[str, str]) -> None:
    """Add labels of resources, by the name that the API gives them. They are plural."""
    _resources.update(labels)


def label(code: object) -> str:
    """Return the label of a code: the registered one, or the code with spaces. Any other text is returned unchanged."""
    text = str(code)
    return _labels.get(text) or (text.replace("_", " ") if _CODE.match(text) else text)


def role(name: str | None, *, built_in: bool = True) -> str:
    """Return the label of a role; a role that an organization named keeps its name."""
    return "deleted" if name is None else label(name) if built_in else name


def resource(name: str) -> str:
    """Return the label of a resource: the registered one, or its name with spaces."""
    return _resources.get(name) or label(name)
