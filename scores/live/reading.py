"""The body of a call for rewards, read item by item, so that every bad item gets a pointer."""

from typing import Any

from django.conf import settings
from msgspec import structs

from autotune.core.api import parsing
from autotune.core.errors import FieldError, Invalid
from scores.live.requests import Item, NewRewards

_STAND_IN = {"response": ""}


def read(body: Any) -> tuple[NewRewards, list[Item | FieldError]]:
    """The body, with a stand-in for its items, and the items; one that cannot be read is its error.

    raises Invalid if it is no such body at all, or holds none or too many
    """
    if not isinstance(body, dict):
        raise Invalid.field("", "wrong_type", "must be an object with `items`.")
    listed = body.get("items")
    if "items" in body and not isinstance(listed, list):
        raise Invalid.field("/items", "wrong_type", "must be a list.")
    asked = parsing.convert({**body, "items": [_STAND_IN]} if "items" in body else body, NewRewards)
    limit = settings.MAX_LIVE_ITEMS
    if not listed or len(listed) > limit:
        raise Invalid.field("/items", "invalid_length", f"give 1 to {limit} items.")
    good, bad = parsing.convert_each(listed, Item, "/items")
    errors = iter(bad)
    return structs.replace(asked, items=[]), [good[at] if at in good else next(errors) for at in range(len(listed))]
