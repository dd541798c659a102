"""Verify a grader: check its address, its signatures and its answers before Autotune sends it work.

Verification calls /health, then /score with a sample. The requests have a fixed form, and the answers have limits of
time and size. Of an answer, people see at most a short, redacted error. No transaction is open during the calls.
"""

from dataclasses import dataclass
from typing import Final

from django.db import transaction
from django.utils import timezone

from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.connections import release
from autotune.core.outbound import engine
from autotune.core.outbound.calls import OutboundError, OutboundResponse
from autotune.core.pages import sentences
from graders import credentials, pauses, status, targets, versions
from graders.gateway import outcomes, requests
from graders.gateway.types import CallOutcome, GraderCall, GraderTarget, HealthReport, SharedSecret
from graders.health import calls, checks
from graders.health.checks import CAPABILITIES, SCORE, CheckResult
from graders.models import Grader
from graders.states import GraderStatus, HealthStatus, Trouble
from graders.verdicts import Acceptance, Failure, GraderItem, GraderOptions, Verdict

VERIFIED: Final = "Verified: it answered /health and a sample /score with valid signatures."
REPORTS_DEGRADED: Final = "Verified, but its /health reports that it is degraded."
ENDED_TROUBLES: Final = frozenset(Trouble) - {Trouble.CIRCUIT}  # only calls with work close the circuit
SAMPLE_PROMPT: Final = "What is 2 + 2?"
SAMPLE_RESPONSE: Final = "4"
CAPABILITY_NAMES: Final = (  # of the registration and of /health
    ("max_batch_size", "maxBatchSize"),
    ("supports_dimensions", "supportsDimensions"),
    ("supports_explanations", "supportsExplanations"),
    ("supports_async", "supportsAsync"),
)


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The results of a verification. `key_ids` are the ids of the secrets that signed the answers."""

    checks: tuple[CheckResult, ...]
    health: HealthReport | None
    key_ids: frozenset[str]

    @property
    def verified(self) -> bool:
        return all(check.passed for check in self.checks)


def verify(grader: Grader) -> VerificationResult:
    """Verify a grader, store the checks, and update its status.

    If all checks pass, the grader becomes active, or degraded if it reports so. If a check fails, an active grader
    becomes degraded, and an inactive one stays inactive.

    raises  Conflict `changed_meanwhile` if its address or secret changed during the calls; NotFound if it was deleted
    """
    target = targets.load(grader)
    release()  # a grader that hangs must not hold a connection of the pool
    result = run(grader, target)
    settle(grader, target, result)
    return result


def run(grader: Grader, target: GraderTarget) -> VerificationResult:
    """Call /health and /score, and check the answers. Writes nothing."""
    result, may_score = begin(grader, target)
    return finish(target, result) if may_score else result


def begin(grader: Grader, target: GraderTarget) -> tuple[VerificationResult, bool]:
    """Call /health. Return the result so far, and whether to call /score; if not, the checks say why."""
    outcome = calls.ask_health({grader.pk: target})[grader.pk]
    health, key_ids = outcome.health, _key_ids(outcome.key_id_verified)
    health_checks = [checks.of_health(outcome), *([clock] if (clock := checks.of_clock(outcome)) else [])]
    if isinstance(health, Failure):
        health_checks.append(CheckResult(SCORE, False, "Not tried, because /health did not pass."))
        return VerificationResult(tuple(health_checks), None, key_ids), False
    health_checks.append(CheckResult(CAPABILITIES, True, _compare_capabilities(grader, health)))
    if health.status == "unhealthy":
        health_checks.append(CheckResult(SCORE, False, "Not tried, because the grader reports that it is unhealthy."))
        return VerificationResult(tuple(health_checks), health, key_ids), False
    return VerificationResult(tuple(health_checks), health, key_ids), True


def finish(target: GraderTarget, result: VerificationResult) -> VerificationResult:
    """Call /score with the sample, and add its check to the result of `begin`."""
    score_outcome, score_check = _score(target)
    return VerificationResult(
        (*result.checks, score_check), result.health, result.key_ids | _key_ids(score_outcome.key_id_verified)
    )


def _score(target: GraderTarget) -> tuple[CallOutcome, CheckResult]:
    item = GraderItem(ids.encode("comp", ids.new()), ids.encode("task", ids.new()), SAMPLE_PROMPT, SAMPLE_RESPONSE)

    def call(secret: SharedSecret | None) -> CallOutcome:
        built = requests.build_score(target, item, GraderOptions(), 1, secret=secret)
        return outcomes.interpret(built, target, _fetch(built))

    outcome = call(None)
    verdict = outcome.verdicts[item.completion_id]
    if isinstance(verdict, Failure) and verdict.resign:
        outcome = call(target.current)
        verdict = outcome.verdicts[item.completion_id]
    return outcome, _score_check(verdict, outcome)


def _score_check(verdict: Verdict | Failure | Acceptance, outcome: CallOutcome) -> CheckResult:
    """Return the check of /score. A signed error that the sample cannot be judged passes too."""
    if isinstance(verdict, Verdict):
        detail = sentences.joined("The sample was scored.", *verdict.warnings)
        return CheckResult(SCORE, True, detail, outcome.latency_ms, outcome.clock_skew_s)
    assert isinstance(verdict, Failure)  # a 202 is a failure too, because the request offers no callback
    cannot_judge = verdict.code == "grader_error"
    reason = sentences.joined(f"The grader reports that it cannot judge the sample: {verdict.message}")
    detail = reason if cannot_judge else checks.failure_text(verdict)
    return CheckResult(SCORE, cannot_judge, detail, outcome.latency_ms, outcome.clock_skew_s)


def _compare_capabilities(grader: Grader, health: HealthReport) -> str:
    """Describe the differences between the capabilities in /health and those registered."""
    capabilities, differences = health.capabilities, []
    for name, wire_name in CAPABILITY_NAMES:
        health_value, registered_value = getattr(capabilities, name), getattr(grader, name)
        if health_value is not None and health_value != registered_value:
            differences.append(f"{wire_name} is {_wire(health_value)}, registered {_wire(registered_value)}")
    if capabilities.domains is not None and sorted(capabilities.domains) != sorted(grader.domains):
        differences.append("domains differ")
    if not differences:
        return "The answer of /health agrees with the registration."
    return f"/health differs from the registration, which Autotune uses: {'; '.join(differences)}."


def _wire(value: bool | int) -> str:
    return str(value).lower()


def _key_ids(*key_ids: str | None) -> frozenset[str]:
    return frozenset(key_id for key_id in key_ids if key_id)


def _fetch(call: GraderCall) -> OutboundResponse | OutboundError:
    try:
        return engine.fetch(call.request)
    except OutboundError as exc:
        return exc


@transaction.atomic
def settle(grader: Grader, target: GraderTarget, result: VerificationResult) -> None:
    """Store the checks of a verification and update the grader's status. Raises the same errors as `verify`."""
    locked_grader = checks.locked(grader.pk, target)
    checks.keep(locked_grader, result.checks)
    Grader.objects.filter(pk=locked_grader.pk).update(checked_at=database_now())
    for key_id in result.key_ids:
        credentials.confirm(key_id)
    if result.verified and result.health is not None:
        _settle_verified(locked_grader, result.health)
    elif locked_grader.status != GraderStatus.INACTIVE:
        failed_check = next(check for check in result.checks if not check.passed)
        reason = sentences.joined(f"Verification failed at {failed_check.name}", failed_check.detail)
        status.trouble(locked_grader.pk, Trouble.VERIFICATION, reason)


def _settle_verified(grader: Grader, health: HealthReport) -> None:
    """Make a verified grader active, unless its owner has switched it off."""
    versions.seen(grader, health.version)
    moment = timezone.now()
    Grader.objects.filter(pk=grader.pk).update(
        verified_at=moment, gone_at=None, auth_failures=0, health=health.status, health_repeats=1, updated_at=moment
    )
    pauses.release(grader.pk, pauses.UNHEALTHY)
    is_healthy = health.status == HealthStatus.HEALTHY
    if not is_healthy:
        status.trouble(grader.pk, Trouble.HEALTH, REPORTS_DEGRADED)
    status.recovered(grader.pk, ENDED_TROUBLES if is_healthy else ENDED_TROUBLES - {Trouble.HEALTH}, VERIFIED)
    if grader.status == GraderStatus.INACTIVE and not grader.switched_off:
        status.admit(grader.pk, VERIFIED if is_healthy else REPORTS_DEGRADED)
