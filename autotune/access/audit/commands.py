"""Record what Django's own commands change about people, in the transaction of the change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models.signals import post_save

from autotune.access.audit import trail
from autotune.access.audit.event_organizations import home_of
from autotune.access.models import Organization, User
from autotune.core import ids


@contextmanager
def recorded(action: str, *, by: str) -> Iterator[None]:
    """Write an audit event for each person that is saved within the block.

    by      the command, as the event's actor
    raises  Unavailable if an event cannot be written; then nothing was saved
    """

    def saved(sender: Any, *, instance: User, **_: Any) -> None:
        home = home_of(instance)
        trail.record(
            action=action,
            resource=action.partition(".")[0],
            organization=None if home is None else Organization.objects.get(pk=home),
            actor=by,
            object_id=ids.encode("user", instance.pk),
        )

    post_save.connect(saved, sender=User, weak=False)
    try:
        yield
    finally:
        post_save.disconnect(saved, sender=User)
