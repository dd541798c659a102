"""What a webhook will be sent is shown before it is: the examples are what the real events are."""

import html
import json
import re

import pytest

from autotune.webhooks.events import examples, fanout
from autotune.webhooks.models import Event
from autotune.webhooks.rules import SUBSCRIBABLE
from autotune.webhooks.states import EventKind
from exports.work import ending
from graders import status
from graders.states import GraderStatus
from scores.models import Reward
from scores.results import events
from scores.reviews import opening
from tests.factories import (
    CompletionFactory,
    ExportFactory,
    GraderFactory,
    OrganizationFactory,
    ReviewFactory,
    ScoreFactory,
    WebhookFactory,
)

pytestmark = pytest.mark.django_db


def shown(client, path):
    """{kind: payload} of the examples on a page."""
    body = client.get(path).content.decode()
    examples = re.findall(r'<pre tabindex="0" aria-label="Example of ([\w.]+)"><code>(.*?)</code>', body, re.DOTALL)
    return {kind: json.loads(html.unescape(text)) for kind, text in examples}


def names(value):
    """The members of a payload without their values."""
    if isinstance(value, dict):
        return {name: names(member) for name, member in value.items()}
    return None


def test_the_form_shows_an_example_of_each_offered_event(visitor):
    examples = shown(visitor(), "/settings/webhooks/new")
    assert list(examples) == [kind.value for kind in SUBSCRIBABLE]
    assert all(
        list(body) == ["event", "data", "timestamp"] and body["event"] == kind for kind, body in examples.items()
    )


def test_a_webhook_shows_its_own_kinds(visitor):
    client = visitor()
    hook = WebhookFactory(organization=client.organization, created_by=client.user, events=["review.requested"])
    assert list(shown(client, f"/settings/webhooks/{hook.public_id}")) == ["review.requested"]


def real(kind):
    """A payload of `kind` about rows that exist."""
    match kind:
        case EventKind.SCORE_COMPLETED:
            judged = ScoreFactory().completion_id
            data = events.completed([judged])[judged]
        case EventKind.SCORE_FAILED:
            lost = CompletionFactory()
            Reward.objects.create(
                completion=lost, organization=lost.organization, task=lost.task, value=None, confidence=None,
                aggregation="mean", used=0, failed=1, error_code="timeout",
            )  # fmt: skip
            data = events.failed([lost.pk])[lost.pk]
        case EventKind.GRADER_STATUS_CHANGED:
            hook = WebhookFactory()
            grader = GraderFactory(organization=hook.organization)
            status.change(grader.pk, GraderStatus.DEGRADED, "It answers badly.")
            data = Event.objects.get(subject_id=grader.pk).data
        case EventKind.REVIEW_REQUESTED:
            data = opening.requested(ReviewFactory())
        case _:
            data = ending.build_payload(ExportFactory())
    return json.loads(fanout.body(Event(kind=kind), data))


@pytest.mark.parametrize("kind", SUBSCRIBABLE)
def test_an_example_has_the_members_of_a_real_event(kind):
    [example] = examples.of([kind], OrganizationFactory().pk)
    assert names(json.loads(example.body)) == names(real(kind))
