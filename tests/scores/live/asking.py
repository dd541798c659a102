"""The bodies of calls for rewards."""

from tests.factories import public


def item(response):
    """A response as an item; a dict as it is."""
    return {"prompt": "What is 2 + 2?", "response": response} if isinstance(response, str) else response


def reward_request(task, *items, **members):
    """A body that is right and waits for nothing, with changes."""
    return {"taskId": public("task", task), "deadlineMs": 0, "items": [item(response) for response in items], **members}
