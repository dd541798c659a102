"""`python -m tests.hostile.plant`: rows that no registration would have let in; `{key, graders}` as JSON.

Reads `{good, hostile}` from the standard input: the address of a real grader, and those of hostile ones. Each has
an active grader, a run that is due, and a webhook that hears of an event. What the guard at the connection must
stop has then passed every check before it: an old row, a check that was forgotten, a name that changed its address.
"""

import json
import sys

import django


def plant(good, hostile):
    from autotune.webhooks.models import Event
    from tests.factories import (
        ApiKeyFactory,
        CompletionFactory,
        GraderFactory,
        OrganizationFactory,
        RunFactory,
        TaskFactory,
        WebhookFactory,
        public,
    )

    key = ApiKeyFactory(organization=OrganizationFactory(operating=True), role="admin")
    shared = {"organization": key.organization, "created_by": key.user}
    graders = []
    for url in (good, *hostile):
        grader = GraderFactory(endpoint=url.rstrip("/"), max_batch_size=1, **shared)
        RunFactory(completion=CompletionFactory(task=TaskFactory(graders=[grader], **shared)))
        WebhookFactory(url=url, events=["review.requested"], **shared)
        graders.append(public("grader", grader))
    Event.objects.create(
        organization=key.organization, kind="review.requested", data={"reviewId": graders[0]}
    )  # goes to all of them
    return {"key": key.text, "graders": graders}


if __name__ == "__main__":
    django.setup()
    print(json.dumps(plant(**json.load(sys.stdin))))
