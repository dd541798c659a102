"""Webhooks that lead to real receivers, and a pump that runs on request."""

import pytest

from autotune.webhooks.delivery.pump import Pump
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.states import EventKind
from tests.factories import OrganizationFactory, WebhookFactory
from tests.support.receiving import Receiver, receiving


@pytest.fixture
def receiver():
    with receiving(Receiver()) as running:
        yield running


@pytest.fixture
def organization(db):
    return OrganizationFactory()


@pytest.fixture
def webhook(organization, receiver):
    """An active webhook for changes of status, at the receiver."""
    return WebhookFactory(organization=organization, url=receiver.url)


@pytest.fixture
def tell(organization):
    """`tell(count)`: so many events, of changes of status, in the outbox."""

    def emit_some(count=1, kind=EventKind.GRADER_STATUS_CHANGED, to=None):
        entries = [EmittedEvent((to or organization).pk, data={"graderId": f"grader_{n}"}) for n in range(count)]
        emit(kind, entries)

    return emit_some


@pytest.fixture
def pump():
    """`pump()`: fan out and deliver until nothing is due."""
    return lambda limit_s=15.0: Pump().drain(limit_s)
