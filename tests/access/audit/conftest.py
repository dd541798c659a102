import pytest

from autotune.access.audit import trail
from autotune.access.models import AuditEvent
from tests.access.audit import guards


@pytest.fixture(autouse=True)
def _no_losses_of_other_tests(monkeypatch):
    monkeypatch.setattr(trail, "losses", trail._Losses())


@pytest.fixture
def events(db):
    """`events()`: all events, the oldest first; `events.only()`: the only one."""

    class Events:
        def __call__(self, **filters):
            return list(AuditEvent.objects.filter(**filters).order_by("id"))

        def only(self, **filters):
            (event,) = self(**filters)
            return event

    return Events()


@pytest.fixture
def guarded(db):
    """The triggers are on, as in service."""
    guards.on()
    yield
    guards.off()
