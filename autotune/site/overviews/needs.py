"""Build the cards that show what needs attention now, each with a count and a link to the page that lists it.

A person sees the cards that they can act on; grader owners see what concerns their own graders.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Count, Min, Q, QuerySet, Value

from autotune.access import policy
from autotune.access.audit import sealing
from autotune.access.principal import Principal
from autotune.core import ids
from autotune.core.pages.formats import ago
from autotune.site.overviews import links, scored
from autotune.site.overviews.grader_states import GraderState
from autotune.site.status import moving
from autotune.webhooks.models import Event, Webhook
from autotune.webhooks.states import WebhookStatus
from exports.models import Export
from exports.states import ExportStatus
from graders.states import GraderStatus
from scores.engine.stalls import DueWork
from scores.engine.sweep import PULSE
from scores.models import Pulse, Review, WorkflowRun
from scores.results import failure_codes
from scores.states import ReviewStatus, RunStatus

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
SLOW: Final = timedelta(minutes=10)  # a run that is due for longer waits too long
SOON: Final = timedelta(days=2)  # a review that expires sooner is urgent
CODES_SHOWN: Final = 6
REJECTED: Final = "review_rejected"
WHOLE: Final = frozenset({"organization", "all"})


@dataclass(frozen=True, slots=True)
class CountCard:
    """A count. `tone` is '' if nobody needs to act, else warn or bad; `url` is the page that lists what it counts."""

    name: str
    value: int
    note: str = ""
    tone: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class FailedRuns:
    """Failed runs of one code, who is responsible, and what must change."""

    code: str
    count: int
    fault: str
    advice: str
    url: str


@dataclass(frozen=True, slots=True)
class OverviewNeeds:
    cards: list[CountCard]
    failures: list[FailedRuns]

    @property
    def pressing(self) -> int:
        """Return how many cards need action."""
        return sum(bool(card.tone) for card in self.cards)


def of(principal: Principal, graders: Sequence[GraderState], now: datetime) -> OverviewNeeds:
    """Return the failures and the cards for this principal; a card that counts nothing is left out."""
    failures = _failures(principal, now) if _works_on_runs(principal) else []
    cards = [
        *(_runs(principal, failures, now) if _works_on_runs(principal) else ()),
        *(_graders(graders, now) if graders else ()),
        *(_reviews(principal, now) if works_on_reviews(principal) else ()),
        *_deliveries(principal, now),
        *(_platform(now) if _operates(principal) else ()),
    ]
    return OverviewNeeds([card for card in cards if card.value], failures[:CODES_SHOWN])


def works_on_reviews(principal: Principal) -> bool:
    """Return whether the principal reads reviews, and requests or decides them, beyond those of their own graders."""
    read, *others = (policy.reach(principal, "reviews", action) in WHOLE for action in ("read", "update", "create"))
    return read and any(others)


def _works_on_runs(principal: Principal) -> bool:
    """Return whether the principal may retry runs, or owns graders that runs wait for."""
    own = policy.reach(principal, "workflow_runs", "read") == "own"
    return own or policy.reach(principal, "workflow_runs", "update") is not None


def _operates(principal: Principal) -> bool:
    """Return whether the principal operates this installation."""
    return principal.organization.operating and policy.reach(principal, "organizations", "read") == "all"


def _failures(principal: Principal, now: datetime) -> list[FailedRuns]:
    """Return the runs that failed in the last day and are still failed, by code, the most frequent first.

    A review that a person rejected is no failure.
    """
    runs = scored.still_failed(principal, now - DAY).exclude(error_code=REJECTED)
    counts = runs.values_list("error_code").annotate(n=Count("pk")).order_by("-n", "error_code")
    return [
        FailedRuns(
            code, count, failure_codes.fault(code), failure_codes.advice(code),
            links.to("workflow_runs", {"status": "failed", "code": code}),
        )
        for code, count in counts
    ]  # fmt: skip


def _runs(principal: Principal, failures: Sequence[FailedRuns], now: datetime) -> Iterator[CountCard]:
    failed = sum(failure.count for failure in failures)
    yield CountCard(
        "Failed workflow runs", failed, "in 24 hours", "bad" if failed else "",
        links.to("workflow_runs", {"status": "failed"}),
    )  # fmt: skip
    runs = WorkflowRun.objects.visible_to(principal)
    pending, waiting = (
        scored.with_status(runs, status)
        .order_by()
        .values_list("status")
        .annotate(n=Count("pk"), oldest=Min("created_at"), overdue=Count("pk", filter=Q(wake_at__lt=now)))
        for status in (RunStatus.PENDING, RunStatus.WAITING)
    )
    by_status = {status: counts for status, *counts in pending.union(waiting, all=True)}
    count, oldest, _ = by_status.get(RunStatus.PENDING, (0, None, 0))
    late = oldest is not None and now - oldest > SLOW
    note = f"oldest {ago(oldest)}" if oldest else "no queue"
    yield CountCard(
        "Due workflow runs", count, note, "warn" if late else "", links.to("workflow_runs", {"status": "pending"})
    )
    count, oldest, overdue = by_status.get(RunStatus.WAITING, (0, None, 0))
    note = f"{overdue} overdue" if overdue else f"oldest {ago(oldest)}" if oldest else "for a callback or a person"
    yield CountCard(
        "Waiting workflow runs",
        count,
        note,
        "warn" if overdue else "",
        links.to("workflow_runs", {"status": "waiting"}),
    )


def _graders(graders: Sequence[GraderState], now: datetime) -> Iterator[CountCard]:
    """Count the graders in trouble, each once: an active one only if it is paused."""
    states = Counter(grader.status for grader in graders)
    degraded, inactive = states[GraderStatus.DEGRADED], states[GraderStatus.INACTIVE]
    paused = sum(grader.status == GraderStatus.ACTIVE and grader.is_paused(now) for grader in graders)
    notes = [
        f"{count} {word}"
        for count, word in ((degraded, "degraded"), (inactive, "inactive"), (paused, "paused"))
        if count
    ]
    worst = GraderStatus.DEGRADED if degraded else GraderStatus.INACTIVE
    filters = {"status": str(worst)} if degraded or inactive else None
    in_trouble = degraded + inactive + paused
    yield CountCard("Graders in trouble", in_trouble, ", ".join(notes), "warn", links.to("graders", filters))


def _reviews(principal: Principal, now: datetime) -> Iterator[CountCard]:
    counts = Review.objects.visible_to(principal).filter(status=ReviewStatus.OPEN).aggregate(
        n=Count("pk"), oldest=Min("created_at"), soon=Count("pk", filter=Q(expires_at__lt=now + SOON))
    )  # fmt: skip
    count, oldest, soon = counts["n"], counts["oldest"], counts["soon"]
    note = (
        f"{soon} expire{'s' * (soon == 1)} within 2 days"
        if soon
        else f"oldest {ago(oldest)}"
        if oldest
        else "none is waiting"
    )
    yield CountCard("Open reviews", count, note, "warn" if count else "", links.to("reviews", {"status": "open"}))


def _deliveries(principal: Principal, now: datetime) -> Iterator[CountCard]:
    """Count failed exports and disabled webhooks, in one statement."""
    rows: dict[str, QuerySet] = {}
    if policy.reach(principal, "exports", "create"):
        recent = Export.objects.visible_to(principal).filter(pk__gte=ids.first_of(now - WEEK))
        rows["exports"] = recent.filter(status=ExportStatus.FAILED)
    if policy.reach(principal, "webhooks", "update"):
        rows["webhooks"] = Webhook.objects.live().visible_to(principal).filter(status=WebhookStatus.DISABLED)
    counts = _counts(rows)
    yield CountCard(
        "Failed exports", counts["exports"], "in 7 days", "bad", links.to("exports", {"status": "failed"})
    )  # fmt: skip
    yield CountCard(
        "Disabled webhooks", counts["webhooks"], "receive no events", "bad",
        links.to("webhooks", {"status": "disabled"}),
    )  # fmt: skip


def _counts(rows: Mapping[str, QuerySet]) -> Counter[str]:
    """Count the rows of each queryset by its name; one statement for all of them."""
    named = [
        queryset.order_by().annotate(named=Value(name)).values_list("named").annotate(n=Count("pk"))
        for name, queryset in rows.items()
    ]
    return Counter(dict(named[0].union(*named[1:], all=True))) if named else Counter()


def _platform(now: datetime) -> Iterator[CountCard]:
    """Show the checks of `/moving` that need only one reading: the sweep, the outbox and the audit log."""
    swept = Pulse.objects.filter(name=PULSE).values_list("at", flat=True).first()
    oldest = Event.objects.filter(fanned_out_at=None).order_by("pk").values_list("created_at", flat=True).first()
    facts = DueWork(
        now=now, last_sweep=swept, oldest_due=None, expired_leases=0, oldest_expired=None, still=frozenset()
    )  # fmt: skip
    state = moving.judged(moving.WorkSnapshot(facts, oldest, sealing.oldest_unsealed()))
    faults = [check.name for check in state.checks if check.status != "ok"]
    late = f"swept {ago(swept)}" if swept else "never swept"
    yield CountCard(
        "Platform faults", len(faults), ", ".join(faults) or late, "bad" if faults else "", "/api/v1/moving"
    )
