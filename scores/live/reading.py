"""Read the body of a request for live rewards item by item, so that every invalid item gets a pointer."""

from typing import Any

from django.conf import settings
from msgspec import structs

from autotune.core.api import parsing
from autotune.core.errors import FieldError, Invalid
from scores.live.requests import NewRewards, RewardItem

_STAND_IN = {"response": ""}


def read(body: Any) -> tuple[NewRewards, list[RewardItem | FieldError]]:
    """Read the body without its items, and each item. An item that cannot be read is returned as its error.

    raises Invalid if the body has another form, or no items, or too many
    """
    if not isinstance(body, dict):
        raise Invalid.field("", "wrong_type", "must be an object with `items`.")
    listed = body.get("items")
    if "items" in body and not isinstance(listed, list):
        raise Invalid.field("/items", "wrong_type", "must be a list.")
    new_rewards = parsing.convert({**body, "items": [_STAND_IN]} if "items" in body else body, NewRewards)
    limit = settings.MAX_LIVE_ITEMS
    if not listed or len(listed) > limit:
        raise Invalid.field("/items", "invalid_length", f"give 1 to {limit} items.")
    good, bad = parsing.convert_each(listed, RewardItem, "/items")
    errors = iter(bad)
    return structs.replace(new_rewards, items=[]), [
        good[at] if at in good else next(errors) for at in range(len(listed))
    ]
