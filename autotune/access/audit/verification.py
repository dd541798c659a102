"""Verify the audit log: read each chain from its first event, and report altered, removed and inserted events.

It reads ranges of the key, so that memory stays bounded, and runs while events are written and sealed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from autotune.access.audit import macs
from autotune.access.models import AuditChain, AuditEvent
from autotune.access.models.audit import INSTALLATION
from autotune.core import ids
from autotune.core.crypto.encryption import Undecryptable

RANGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class ChainProblem:
    """A problem of a chain. kind: `altered`, `removed`, `inserted` or `unreadable`."""

    chain: str
    kind: str
    what: str

    def __str__(self) -> str:
        return f"{self.chain}: {self.kind}: {self.what}"


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of a chain at some time. A copy outside of this database reveals the removal of later events."""

    number: int
    digest: str


def name_of(chain: UUID) -> str:
    """Return the public name of a chain: `org_…`, or `installation`."""
    return "installation" if chain == INSTALLATION else ids.encode("org", chain)


def chain_of(name: str) -> UUID:
    """Return the chain with this public name, or raise ValueError."""
    return INSTALLATION if name == "installation" else ids.decode("org", name)


def chains() -> list[UUID]:
    """Return all chains: those with a head, and those that only events name."""
    heads = set(AuditChain.objects.values_list("chain", flat=True))
    return sorted(heads | set(AuditEvent.objects.order_by().values_list("chain", flat=True).distinct()))


def heads() -> dict[str, ChainHead]:
    """Return the present end of each chain, by its public name."""
    return {name_of(head.chain): ChainHead(head.number, bytes(head.digest).hex()) for head in AuditChain.objects.all()}


def verify(chain: UUID, kept: Mapping[str, ChainHead] | None = None) -> Iterator[ChainProblem]:
    """Yield the problems of a chain.

    kept  heads that were saved earlier in another place
    """
    try:
        key = macs.key_of(chain)
    except Undecryptable as exc:
        yield ChainProblem(name_of(chain), "unreadable", str(exc))
        return
    yield from _Walk(chain, key, (kept or {}).get(name_of(chain))).findings()


class _Walk:
    """One pass over a chain."""

    def __init__(self, chain: UUID, key: bytes, kept: ChainHead | None) -> None:
        self.chain, self.key, self.kept = chain, key, kept
        self.name = name_of(chain)
        self.number, self.digest = 0, macs.GENESIS

    def findings(self) -> Iterator[ChainProblem]:
        head = AuditChain.objects.filter(chain=self.chain).first()
        yield from self._sealed(head.number if head else 0)
        if head is not None and self.number == head.number and self.digest != bytes(head.digest):
            yield self._finding("altered", f"the head of the chain, which is not the digest of number {head.number}")
        yield from self._behind(head.number if head else 0)
        yield from self._unsealed()

    def _sealed(self, end: int) -> Iterator[ChainProblem]:
        for event in self._events(end):
            number = int(event.number or 0)
            if number > self.number + 1:
                yield self._removed(self.number + 1, number - 1)
                before = None  # the removed event's digest is unknown; the comparison goes on from this event
            else:
                before = self.digest
            mac = bytes(event.mac)
            if not macs.fits(self.key, event):
                yield self._finding("altered", f"number {number}, {_describe(event)}")
            elif before is not None and macs.of_place(self.key, before, number, mac) != bytes(event.digest or b""):
                yield self._finding("altered", f"the place of number {number}, {_describe(event)}")
            self.number, self.digest = number, bytes(event.digest or b"")
            if self.kept is not None and number == self.kept.number and self.digest.hex() != self.kept.digest:
                yield self._finding("altered", f"number {number}: its digest is not the one in the saved heads")
        if self.number < end:
            yield self._removed(self.number + 1, end)
        elif self.kept is not None and self.kept.number > max(end, self.number):
            yield self._removed(max(end, self.number) + 1, self.kept.number)

    def _events(self, end: int) -> Iterator[AuditEvent]:
        after = 0
        while True:
            rows = AuditEvent.objects.filter(chain=self.chain, number__gt=after, number__lte=end).order_by("number")
            events = list(rows[:RANGE])
            yield from events
            if len(events) < RANGE:
                return
            after = int(events[-1].number or 0)

    def _behind(self, end: int) -> Iterator[ChainProblem]:
        """Yield events with a number beyond the chain's end, which the sealing thread may have moved since."""
        head = AuditChain.objects.filter(chain=self.chain).first()
        beyond = AuditEvent.objects.filter(chain=self.chain, number__gt=max(head.number if head else 0, end))
        for event in beyond.order_by("number")[:RANGE]:
            yield self._finding("inserted", f"number {event.number}, {_describe(event)}")

    def _unsealed(self) -> Iterator[ChainProblem]:
        after = UUID(int=0)
        while True:
            rows = AuditEvent.objects.filter(chain=self.chain, number=None, id__gt=after).order_by("id")
            events = list(rows[:RANGE])
            for event in events:
                if not macs.fits(self.key, event) and _is_still_unsealed(event):
                    yield self._finding("inserted", f"not sealed: {_describe(event)}; or altered before it was")
            if len(events) < RANGE:
                return
            after = events[-1].id

    def _removed(self, first: int, last: int) -> ChainProblem:
        return self._finding("removed", f"number {first}" if first == last else f"numbers {first} to {last}")

    def _finding(self, kind: str, what: str) -> ChainProblem:
        return ChainProblem(self.name, kind, what)


def _describe(event: AuditEvent) -> str:
    occurred_at = event.at.astimezone(UTC) if isinstance(event.at, datetime) else event.at
    return f"{event.public_id} ({event.action} by {event.actor}, {occurred_at:%Y-%m-%dT%H:%M:%SZ})"


def _is_still_unsealed(event: AuditEvent) -> bool:
    """Return whether the event is unchanged since it was read: a call in progress may have ended."""
    now = AuditEvent.objects.filter(pk=event.pk, number=None).first()
    return now is not None and bytes(now.mac) == bytes(event.mac)
