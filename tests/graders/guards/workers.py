"""Drains as far as their guards are concerned, and the clock by which they act."""

from datetime import UTC, datetime, timedelta

from graders.guards import CallReport, Guard
from graders.models import Grader


class Clock:
    """The database's clock as far as guards hear of it."""

    def __init__(self):
        self.now = datetime(2026, 11, 28, 12, tzinfo=UTC)

    def passes(self, seconds):
        self.now += timedelta(seconds=seconds)
        return self.now


class Worker:
    """One drain's guard, and a hand that moves it: `ask`, `note`, `calls`."""

    def __init__(self, grader, drain_id, clock):
        self.grader, self.drain_id, self.clock = grader, drain_id, clock
        self.guard = Guard(grader, drain_id)
        self.permit = None

    def ask(self, want=16):
        self.grader = Grader.objects.get(pk=self.grader.pk)
        self.permit = self.guard.refresh(self.grader, want=want, now=self.clock.now)
        return self.permit

    def note(self, *answers):
        permit = self.guard.note(answers, now=self.clock.now)
        self.permit = permit or self.permit
        return permit

    def calls(self, results, *, items=1, shrink=False):
        """Calls that went out together and ended in this order: 'g' good, 'b' bad."""
        numbers = [self.guard.sent() for _ in results]
        return self.note(
            *(CallReport(result == "g", items, shrink, number) for result, number in zip(results, numbers, strict=True))
        )
