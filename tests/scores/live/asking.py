"""The bodies of calls for rewards."""

from tests.factories import public


def item(given):
    """A response as an item; a dict as it is."""
    return {"prompt": "What is 2 + 2?", "response": given} if isinstance(given, str) else given


def asked(task, *items, **members):
    """A body that is right and waits for nothing, with changes."""
    return {"taskId": public("task", task), "deadlineMs": 0, "items": [item(one) for one in items], **members}
