"""Webhook bodies are JSON as ECMAScript writes it: a receiver may sign a body that it parsed and wrote again."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook as Standard

from autotune.webhooks import trying
from autotune.webhooks.events import examples, fanout
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Delivery, Event
from autotune.webhooks.states import EventKind
from tests.factories import WEBHOOK_SECRET, OrganizationFactory, ScoreFactory, WebhookFactory
from tests.support.ecmascript import assert_as_ecmascript_writes_it, needs_node, rewritten

EXTREMES = [
    1.0, 0.0, -0.0, 0.1, 5e-324, 2.5e-310, 1e-7, 1e-6, 123456789012345680000.0, 1e21, 1.7976931348623157e308, 2**53, -(2**53),
    1 / 3, 100.0, True, None,
    "\u2028\u2029", "\x00\x01\x08\x09\x0a\x0c\x0d\x1f\x7f\x80", "\ud800", "a\udc00b", "\U0001f600", 'q"\\/', "<&>",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def body(data):
    return fanout.body(Event(kind=EventKind.SCORE_COMPLETED), data)


def test_c14_a_whole_number_is_written_without_a_point():
    assert b'"value":1,' in body({"value": 1.0, "confidence": 0.5})


def test_c14_extremes_are_written_as_ecmascript_writes_them():
    bodies = [body({"value": value, "2": 1.0, "1": [value]}) for value in EXTREMES]
    assert_as_ecmascript_writes_it(*bodies)
    assert body({"v": 1e21}).count(b'"v":1e+21') == body({"v": -0.0}).count(b'"v":0}') == 1


@needs_node
def test_c14_any_data_survives_being_parsed_and_written_again():
    bodies = []

    @given(st.dictionaries(st.text(max_size=6), VALUES, max_size=4))
    def collect(data):
        bodies.append(body(data))

    collect()
    assert len(bodies) >= 50
    assert rewritten(*bodies) == [text.decode() for text in bodies]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_c14_a_number_that_is_not_finite_is_never_sent(value):
    with pytest.raises(ValueError, match="not finite"):
        body({"value": value})


@pytest.mark.django_db
def test_c14_deliveries_and_redeliveries_have_the_bytes_that_ecmascript_writes(receiver, pump, settings):
    organization = OrganizationFactory()
    webhook = WebhookFactory(organization=organization, url=receiver.url, events=["score.completed"])
    for value in (1.0, 5e-324, 0.0):
        score = ScoreFactory(
            run__completion__task__organization=organization, value=value, confidence=1.0, reasoning="a\u2028b\x01"
        )
        emit(EventKind.SCORE_COMPLETED, [EmittedEvent(organization.pk, subject_id=score.completion_id)])
    pump()
    sent = [call.body for call in receiver.received]
    assert len(sent) == 3
    assert_as_ecmascript_writes_it(*sent)
    assert sorted(json.loads(text)["data"]["reward"]["value"] for text in sent) == [0, 5e-324, 1]
    trying.redeliver(webhook.pk, Delivery.objects.order_by("pk").first().pk)
    pump()
    redelivery = receiver.received[-1]
    assert redelivery.body in sent
    assert Standard(WEBHOOK_SECRET).verify(redelivery.body, redelivery.headers)


@pytest.mark.django_db
def test_c14_a_test_event_is_written_as_ecmascript_writes_it(receiver, webhook):
    trying.test(webhook.pk)
    (sent,) = receiver.received
    assert_as_ecmascript_writes_it(sent.body)


@pytest.mark.django_db
def test_c14_the_examples_on_pages_are_written_as_ecmascript_writes_them(organization):
    events = examples.of(list(EventKind), organization.pk)
    assert len(events) >= 4
    compact = [json.dumps(json.loads(event.body), ensure_ascii=False, separators=(",", ":")) for event in events]
    assert_as_ecmascript_writes_it(*compact)
    assert not any(".0," in event.body or ".0\n" in event.body for event in events)


@needs_node
@pytest.mark.django_db
def test_c14_the_examples_on_pages_are_indented_as_ecmascript_indents(organization):
    bodies = [event.body for event in examples.of(list(EventKind), organization.pk)]
    assert rewritten(*bodies, indent=2) == bodies
