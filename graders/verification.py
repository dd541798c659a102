"""Verification: a signed /health and a signed sample /score must hold before a grader is called for real.

Two requests of a fixed form, answers bounded in time and size; of an answer a short, redacted error is shown at most.
No transaction is open while they are out.
"""

from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from autotune.core import http, ids
from autotune.core.connections import release
from autotune.core.errors import Conflict, NotFound
from autotune.core.outbound import OutboundError, OutboundResponse
from graders import credentials, status, targets, versions
from graders.gateway import outcomes, requests
from graders.gateway.types import (
    Call,
    Failure,
    GraderTarget,
    Health,
    HealthOutcome,
    Item,
    Options,
    Outcome,
    Secret,
    Verdict,
)
from graders.models import Grader, GraderCheck
from graders.states import GraderStatus

HEALTH, CLOCK, CAPABILITIES, SCORE = "health", "clock", "capabilities", "score"
TOLERATED_SKEW_S: Final = 60
KEPT_CHECKS: Final = 200
VERIFIED: Final = "Verified: it answered /health and a sample /score with valid signatures."
SAYS_DEGRADED: Final = "Verified, but its /health says that it is degraded."
SAMPLE_PROMPT: Final = "What is 2 + 2?"
SAMPLE_RESPONSE: Final = "4"
COMPARED: Final = (
    ("max_batch_size", "maxBatchSize"),
    ("supports_dimensions", "supportsDimensions"),
    ("supports_explanations", "supportsExplanations"),
    ("supports_async", "supportsAsync"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One check. `latency_ms` of its call, where it made one."""

    name: str
    passed: bool
    detail: str
    latency_ms: float | None = None
    clock_skew_s: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """What the probes found. `key_ids` are those of the secrets that the answers verified with."""

    checks: tuple[Check, ...]
    health: Health | None
    key_ids: frozenset[str]

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)


def verify(grader: Grader) -> Probe:
    """Probe a grader, keep the checks, and move its status by them.

    All passed: active (degraded if it says so of itself). Else an active grader becomes degraded, and others stay.

    raises  Conflict `changed_meanwhile` if its address or secret changed while the probes were out; NotFound if deleted
    """
    target = targets.load(grader)
    release()  # a grader that hangs must not hold a connection of the pool
    probe = run(grader, target)
    settle(grader, target, probe)
    return probe


def run(grader: Grader, target: GraderTarget) -> Probe:
    """Call /health, then /score, and judge the answers. Writes nothing."""
    health = _health(target)
    found = health.health
    if isinstance(found, Failure):
        checks = [Check(HEALTH, False, _told(found), health.latency_ms, health.clock_skew_s), *_clock(health)]
        checks.append(Check(SCORE, False, "Not tried, since /health did not pass."))
        return Probe(tuple(checks), None, _keys(health.key_id_verified))
    fit = found.status != "unhealthy"
    checks = [
        Check(HEALTH, fit, f"The grader says that it is {found.status}.", health.latency_ms, health.clock_skew_s),
        *_clock(health),
        Check(CAPABILITIES, True, _compared(grader, found)),
    ]
    if not fit:
        checks.append(Check(SCORE, False, "Not tried, since the grader says that it is unhealthy."))
        return Probe(tuple(checks), found, _keys(health.key_id_verified))
    scored, said = _score(target)
    checks.append(said)
    return Probe(tuple(checks), found, _keys(health.key_id_verified, scored.key_id_verified))


def _health(target: GraderTarget) -> HealthOutcome:
    def call(secret: Secret | None) -> HealthOutcome:
        built = requests.build_health(target, secret=secret)
        return outcomes.interpret_health(built, target, _fetch(built))

    outcome = call(None)
    if isinstance(outcome.health, Failure) and outcome.health.resign:
        outcome = call(target.current)
    return outcome


def _score(target: GraderTarget) -> tuple[Outcome, Check]:
    item = Item(ids.encode("comp", ids.new()), ids.encode("task", ids.new()), SAMPLE_PROMPT, SAMPLE_RESPONSE)

    def call(secret: Secret | None) -> Outcome:
        built = requests.build_score(target, item, Options(), 1, secret=secret)
        return outcomes.interpret(built, target, _fetch(built))

    outcome = call(None)
    verdict = outcome.verdicts[item.completion_id]
    if isinstance(verdict, Failure) and verdict.resign:
        outcome = call(target.current)
        verdict = outcome.verdicts[item.completion_id]
    return outcome, _judged(verdict, outcome)


def _judged(verdict: Verdict | Failure, outcome: Outcome) -> Check:
    """A valid score passes, and so does a grader that says, signed, that it cannot judge the sample."""
    if isinstance(verdict, Verdict):
        warnings = "".join(f" {warning}" for warning in verdict.warnings)
        return Check(SCORE, True, f"The sample was scored.{warnings}", outcome.latency_ms, outcome.clock_skew_s)
    cannot = verdict.code == "grader_error"
    detail = f"It cannot judge the sample, and says so: {verdict.message}" if cannot else _told(verdict)
    return Check(SCORE, cannot, detail, outcome.latency_ms, outcome.clock_skew_s)


def _clock(health: HealthOutcome) -> list[Check]:
    """The grader's clock, where a good signature shows it. Up to 300 s are borne; above 60 s the owner is told."""
    skew = health.clock_skew_s
    if skew is None:
        return []
    if abs(skew) <= TOLERATED_SKEW_S:
        return [Check(CLOCK, True, "The grader's clock agrees with ours.", clock_skew_s=skew)]
    side = "ahead of" if skew > 0 else "behind"
    borne = not isinstance(health.health, Failure)
    return [Check(CLOCK, borne, f"The grader's clock is {abs(skew):.0f} s {side} ours. Set it.", clock_skew_s=skew)]


def _compared(grader: Grader, health: Health) -> str:
    """Where /health and the registration differ. What is registered counts."""
    told, differences = health.capabilities, []
    for name, wire_name in COMPARED:
        said, registered = getattr(told, name), getattr(grader, name)
        if said is not None and said != registered:
            differences.append(f"{wire_name} is {_wire(said)} there and {_wire(registered)} here")
    if told.domains is not None and sorted(told.domains) != sorted(grader.domains):
        differences.append("domains differ")
    if not differences:
        return "What /health says agrees with the registration."
    return f"/health differs from the registration, which counts: {'; '.join(differences)}."


def _wire(value: bool | int) -> str:
    return str(value).lower()


def _told(failure: Failure) -> str:
    return f"{failure.code}: {failure.message}"


def _keys(*key_ids: str | None) -> frozenset[str]:
    return frozenset(key_id for key_id in key_ids if key_id)


def _fetch(call: Call) -> OutboundResponse | OutboundError:
    try:
        return http.fetch(call.request)
    except OutboundError as exc:
        return exc


@transaction.atomic
def settle(grader: Grader, target: GraderTarget, probe: Probe) -> None:
    """Keep what a probe found and move the grader by it. Raises as `verify` does."""
    now = Grader.objects.live().select_for_update(no_key=True).filter(pk=grader.pk).first()
    if now is None:
        raise NotFound("There is no such grader.")
    held = {secret.key_id for secret in credentials.active_secrets(now)}
    if now.endpoint != target.base_url or target.current.key_id not in held:
        raise Conflict(
            "The grader's address or secret changed while it was verified. Verify it again.", code="changed_meanwhile"
        )
    _keep(now, probe)
    for key_id in probe.key_ids:
        credentials.confirm(key_id)
    if not probe.verified:
        first = next(check for check in probe.checks if not check.passed)
        reason = f"Verification failed at {first.name}. {first.detail}"
        status.change(now.pk, GraderStatus.DEGRADED, reason, only_from=[GraderStatus.ACTIVE])
        return
    versions.seen(now, probe.health.version if probe.health else None)
    moment = timezone.now()
    Grader.objects.filter(pk=now.pk).update(verified_at=moment, gone_at=None, auth_failures=0, updated_at=moment)
    if probe.health is not None and probe.health.status == "degraded":
        status.change(now.pk, GraderStatus.DEGRADED, SAYS_DEGRADED)
    else:
        status.change(now.pk, GraderStatus.ACTIVE, VERIFIED)


def _keep(grader: Grader, probe: Probe) -> None:
    """Store the checks, and of the grader's checks only the newest."""
    GraderCheck.objects.bulk_create(
        GraderCheck(
            grader=grader,
            name=check.name,
            passed=check.passed,
            detail=check.detail[:600],
            latency_ms=check.latency_ms,
            clock_skew_s=check.clock_skew_s,
        )
        for check in probe.checks
    )
    all_of_it = GraderCheck.objects.filter(grader=grader)
    oldest = all_of_it.order_by("-id").values_list("pk", flat=True)[KEPT_CHECKS : KEPT_CHECKS + 1].first()
    if oldest is not None:
        all_of_it.filter(pk__lte=oldest).delete()
