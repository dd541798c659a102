"""Record calls to asynchronous graders before they are sent, and receive the callbacks that answer them.

The token is 256 random bits in the callback's address; only its SHA-256 is stored. Each callback is judged under a lock
on its attempt: if several arrive at once, one is recorded and the others receive that result.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from autotune.access.audit import current_call, trail
from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.errors import NotFound, Unavailable
from graders import credentials, targets
from graders.gateway import callbacks as gateway
from graders.gateway import signing
from graders.gateway.callbacks import CallbackAttempt, CallbackResponse, State
from graders.gateway.evidence import callback_evidence
from graders.gateway.types import CallbackAddress, GraderCall, GraderTarget
from graders.models import GraderSecret
from graders.verdicts import Failure, GraderOptions, Verdict
from scores.engine import recording, waits
from scores.engine.call_results import FailedAttempt, JudgedRun
from scores.engine.claims import ClaimedRun, claimed_under
from scores.engine.materials import TaskFactsCache
from scores.engine.retries import RetryDecision
from scores.engine.timeline import entry
from scores.models import Callback, CallbackItem, WorkflowRun
from scores.states import RunStatus, WaitKind

TOKEN_BYTES: Final = 32
PATH: Final = "/api/v1/callbacks/"
CANCELLED: Final = "cancelled"
ERASED: Final = "erased"
EXPIRED: Final = waits.WAITS[WaitKind.CALLBACK].code


def new_address(now: datetime) -> tuple[str, CallbackAddress]:
    """Create a new token and the callback address that contains it. Both are valid for CALLBACK_DEADLINE_S."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    until = now + waits.limit(WaitKind.CALLBACK)
    return token, CallbackAddress(f"{settings.PUBLIC_URL}{PATH}{token}", until)


def digest_of(token: str) -> bytes:
    """Return the SHA-256 of a token, which is stored in its place."""
    return hashlib.sha256(token.encode()).digest()


def record(
    grader_id: UUID, version_id: UUID, opened: Sequence[tuple[GraderCall, str, Sequence[tuple[UUID, int]]]]
) -> None:
    """Record attempts: for each its call, its token, and its runs with their attempt numbers."""
    callbacks, items = [], []
    for call, token, runs in opened:
        assert call.callback is not None
        row = Callback(
            grader_id=grader_id,
            grader_version_id=version_id,
            token_digest=digest_of(token),
            request_id=call.request_id,
            signature=call.signature,
            kind=call.kind,
            include_dimensions=call.options.include_dimensions,
            include_explanation=call.options.include_explanation,
            expires_at=call.callback.expires_at,
        )
        callbacks.append(row)
        items += [CallbackItem(callback=row, run_id=run_id, attempt=attempt) for run_id, attempt in runs]
    with transaction.atomic():
        Callback.objects.bulk_create(callbacks)
        CallbackItem.objects.bulk_create(items)


def receive(token: str, headers: signing.Headers, body: bytes) -> CallbackResponse:
    """Judge a callback and return the reply to it. If the reply is `recorded`, its results are stored.

    raises NotFound for a token that Autotune did not issue
    """
    row = Callback.objects.select_related("grader").filter(token_digest=digest_of(token)).first()
    if row is None:
        raise NotFound("There is no such callback.")
    if row.grader.deleted_at is not None:
        return CallbackResponse(
            410, CANCELLED
        )  # its secrets are deleted, so no signature can be verified: it must stop sending
    target = targets.load_many([row.grader]).get(row.grader_id)
    grader_id = ids.encode("grader", row.grader_id)
    current_call.about(grader_id)
    if target is None and GraderSecret.objects.filter(grader=row.grader).exists():
        raise Unavailable(targets.SECRET_UNREADABLE)  # the grader retries until the secret is repaired
    if target is None or not _is_signed(row, target, headers, body):
        return gateway.UNAUTHORIZED
    current_call.by(grader_id, organization_id=row.grader.organization_id)
    with transaction.atomic():
        if not Callback.objects.select_for_update(no_key=True).filter(pk=row.pk).exists():
            raise NotFound("There is no such callback.")  # cleaned up at this moment
        reply = _Reception(row, target, headers, body).judge()
        trail.within(reply.status, reply.code if reply.status >= 400 else "")
        return reply


def _is_signed(row: Callback, target: GraderTarget, headers: signing.Headers, body: bytes) -> bool:
    """Check the signature before anything is locked, so that callers who know only the token cannot hold a lock."""
    try:
        signing.verify_callback(
            target.signing,
            headers,
            body,
            request_id=row.request_id,
            sent_signature=row.signature,
            now=database_now().timestamp(),
        )
    except signing.SignatureRefused:
        return False
    return True


class _Reception:
    """A callback that is judged while its attempt is locked."""

    def __init__(self, row: Callback, target: GraderTarget, headers: signing.Headers, body: bytes) -> None:
        self.row, self.target, self.headers, self.body = row, target, headers, body
        self.now = database_now()
        self.digest = hashlib.sha256(body).digest()
        self.items = {item.run_id: item for item in row.items.all()}
        runs = WorkflowRun.objects.filter(pk__in=self.items).order_by("pk").defer("steps")
        runs = runs.annotate(task_version_id=F("completion__task_version_id"))  # the texts may be large
        self.runs = {ids.encode("comp", run.completion_id): run for run in runs}

    def judge(self) -> CallbackResponse:
        if not self.runs:
            raise NotFound("There is no such callback.")
        reply = gateway.judge(self._attempt(), self.target.signing, self.headers, self.body, now=self.now.timestamp())
        if reply.code != "recorded":
            return reply
        still_open = {name: verdict for name, verdict in reply.verdicts.items() if _state(self.runs[name]) == "waiting"}
        moved = self._record(still_open)
        if not moved:
            return self._closed([self.runs[name] for name in reply.verdicts])
        CallbackItem.objects.filter(callback=self.row, run_id__in=moved).update(body_digest=self.digest)
        credentials.note_verified(self.target, reply.key_id_verified)
        return reply

    def _attempt(self) -> CallbackAttempt:
        states = {_state(run) for run in self.runs.values()}
        recorded = {bytes(item.body_digest) for item in self.items.values() if item.body_digest}
        same = self.digest in recorded or not recorded
        still_open = "waiting" in states
        return CallbackAttempt(
            request_id=self.row.request_id,
            signature=self.row.signature,
            state="waiting" if still_open else states.pop() if len(states) == 1 else "completed",
            expires_at=self.row.expires_at.timestamp(),
            items=tuple(self.runs),
            kind="batch" if self.row.kind == "batch" else "score",
            options=GraderOptions(self.row.include_dimensions, self.row.include_explanation),
            recorded_body_sha256=None
            if still_open or not recorded
            else (self.digest if same else recorded.pop()).hex(),
        )

    def _record(self, verdicts: Mapping[str, Verdict | Failure]) -> set[UUID]:
        judged = [self._judged(name, verdict) for name, verdict in verdicts.items() if isinstance(verdict, Verdict)]
        missed = [self._missed(name, failure) for name, failure in verdicts.items() if isinstance(failure, Failure)]
        if not judged and not missed:
            return set()
        return recording.save_callback(self.row.grader_id, self.row.grader_version_id, judged, missed, TaskFactsCache())

    def _judged(self, name: str, verdict: Verdict) -> JudgedRun:
        run = self.runs[name]
        latency_ms = max(0.0, (self.now - self.row.created_at) / timedelta(milliseconds=1))
        step = self._step(run, "recorded")
        return JudgedRun(self._claimed(run), verdict, run.task_version_id, self.row.grader_version_id, latency_ms, step)

    def _missed(self, name: str, failure: Failure) -> FailedAttempt:
        run = self.runs[name]
        decision = RetryDecision(failure.code, failure.message)
        step = self._step(run, failure.code)
        return FailedAttempt(self._claimed(run), decision, step=step, evidence=self._evidence(name))

    def _evidence(self, name: str) -> dict[str, Any]:
        duration_ms = max(0.0, (self.now - self.row.created_at) / timedelta(milliseconds=1))
        secrets = [secret.value for secret in self.target.signing]
        return callback_evidence(self.body, self.row.request_id, name, len(self.items), duration_ms, secrets)

    def _step(self, run: WorkflowRun, outcome: str) -> dict:
        attempt = self.items[run.pk].attempt
        return entry("callback", attempt, outcome, started=self.row.created_at, ended=self.now)

    def _claimed(self, run: WorkflowRun) -> ClaimedRun:
        """The run under the attempt that this callback answers."""
        return claimed_under(run, self.items[run.pk].attempt)

    def _closed(self, runs: Sequence[WorkflowRun]) -> CallbackResponse:
        """Reply to a callback whose runs have all ended while other items of its batch are open."""
        if all(_state(run) == "cancelled" for run in runs):
            return CallbackResponse(410, CANCELLED)
        digests = [self.items[run.pk].body_digest for run in runs]
        same = all(digest is not None and bytes(digest) == self.digest for digest in digests)
        return CallbackResponse(409, "already_recorded" if same else "result_conflict")


def _state(run: WorkflowRun) -> State:
    """The state of a run for a callback: "waiting" includes every state in which an answer still counts."""
    if run.status == RunStatus.COMPLETED or run.waits_for == WaitKind.REVIEW:
        return "completed"
    if run.status == RunStatus.FAILED and run.error_code in (CANCELLED, ERASED):
        return "cancelled"
    # a callback that is too late for its run is rejected by the attempt's own deadline
    return "failed" if run.status == RunStatus.FAILED and run.error_code != EXPIRED else "waiting"
