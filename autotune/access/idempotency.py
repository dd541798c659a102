"""Idempotency keys: a POST that is repeated with its key gets the response of the first request.

The response is stored in the transaction of the work itself, so that a crash leaves both or neither. Only a success is
stored: an error rolls the work back, and a repeated request runs it again. Scope: organization and route.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self, TypeGuard
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from autotune.access import commits
from autotune.access.models import StoredAnswer
from autotune.core import ids
from autotune.core.clock import database_now
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import encrypted
from autotune.core.errors import Conflict, FieldError, Gone, Invalid, Unprocessable

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
POINTER: Final = f"@{HEADER}"
KEPT: Final = timedelta(hours=24)
RESERVED: Final = timedelta(minutes=6)  # longer than any work that waits for another server or for rewards
RETRY_AFTER_S: Final = 1
CLEANED_AT_ONCE: Final = 5_000
_IN_FLIGHT: Final = 0  # as the status of a row: reserved, not yet answered
_ERASED: Final = 410  # the answer contained text that has since been erased; nothing of the request is kept either
_COLUMNS: Final = tuple(StoredAnswer._meta.concrete_fields)
_PLACE: Final = StoredAnswer._meta.get_field("organization")
_IS_STORED: Final = (
    "exists (select 1 from access_storedanswer where organization_id = %s and route = %s and key_digest = %s)"
)
_INSERT: Final = (
    f"insert into access_storedanswer ({', '.join(str(column.column) for column in _COLUMNS)}) "  # noqa: S608 - names of the model
    f"values ({', '.join(['%s'] * len(_COLUMNS))})"
)
_KEY: Final = re.compile(r"[!-~](?:[ -~]{0,253}[!-~])?")  # HTTP strips the spaces around a header's value


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with an idempotency key, as the table of stored answers identifies it."""

    organization_id: UUID
    route: str
    key_digest: bytes
    request_digest: bytes

    @classmethod
    def of(cls, request: HttpRequest, key: str, organization_id: UUID, *, person: UUID | None = None) -> Self:
        """Return the request with its key and body as digests.

        person  keeps this person's keys apart, for a role that must not see the responses to other people's requests
        """
        query = request.META.get("QUERY_STRING", "").encode()
        return cls(
            organization_id,
            f"{request.method} {request.path}",
            hashlib.sha256((b"" if person is None else person.bytes) + key.encode()).digest(),
            encryption.content_digest(organization_id, query, request.body),
        )

    @property
    def lock(self) -> int:
        """A signed 64-bit number for the advisory lock; two keys that share it by chance answer 409 for a moment."""
        scope = self.organization_id.bytes + self.key_digest + self.route.encode()
        return int.from_bytes(hashlib.sha256(scope).digest()[:8], "big", signed=True)


def key_of(request: HttpRequest) -> str | None:
    """Return the request's idempotency key; None without the header.

    raises Invalid with the pointer `@Idempotency-Key`
    """
    key = request.headers.get(HEADER)
    if key is not None and not _KEY.fullmatch(key):
        detail = "Send 1 to 255 printable ASCII characters."
        error = FieldError(POINTER, "invalid_idempotency_key", detail)
        raise Invalid(f"{POINTER}: {detail}", code="invalid_idempotency_key", errors=[error])
    return key


def once(
    keyed_request: KeyedRequest,
    work: Callable[[], HttpResponseBase],
    *,
    secrets: Sequence[str] = (),
    calls_out: bool = False,
) -> HttpResponseBase:
    """Return the response of `work()`, or the response that the same request got before.

    secrets    members of the response that are stored as null
    calls_out  the work waits for another server: the key is reserved before it, and the response stored after it
    raises     Conflict `idempotency_in_flight`, Unprocessable `idempotency_key_reused`, and whatever the work raises
    """
    return _reserved(keyed_request, work, secrets) if calls_out else _transacted(keyed_request, work, secrets)


def forget(subjects: Collection[UUID], *, about: str = "") -> None:
    """Erase the stored answers that contain text of these completions; a repeated request then gets 410.

    about  erase only the answers of routes that contain this; empty: of all routes
    """
    rows = StoredAnswer.objects.filter(subject__in=subjects)
    if about:
        rows = rows.filter(route__contains=about)
    rows.update(status=_ERASED, answer=None, request_digest=b"")


def in_flight(route: str) -> UUID:
    """Return the placeholder subject of a request in progress, by which `forget` keeps its answer from being stored."""
    return uuid5(NAMESPACE_URL, route)


def clean(now: datetime) -> int:
    """Delete the answers that have expired, and return how many."""
    total = 0
    expired = StoredAnswer.objects.filter(expires_at__lte=now).order_by("expires_at").values_list("pk", flat=True)
    while expired_ids := list(expired[:CLEANED_AT_ONCE]):
        total += StoredAnswer.objects.filter(pk__in=expired_ids, expires_at__lte=now).delete()[0]
    return total


def _transacted(
    keyed_request: KeyedRequest, work: Callable[[], HttpResponseBase], secrets: Sequence[str]
) -> HttpResponseBase:
    def first_or_again() -> HttpResponseBase:
        now, is_stored = _lock(keyed_request)
        if is_stored and (stored := _stored(keyed_request, now)):
            return _replay(stored, keyed_request)
        response = work()
        if _is_success(response):
            _insert(_row(keyed_request, now, secrets, response))
        else:
            transaction.set_rollback(True)
        return response

    return commits.whole(first_or_again)


def _reserved(
    keyed_request: KeyedRequest, work: Callable[[], HttpResponseBase], secrets: Sequence[str]
) -> HttpResponseBase:
    """Reserve the key, run the work without a transaction, and store its response. After a crash, the row expires."""
    try:
        with transaction.atomic():
            now, is_stored = _lock(keyed_request)
            if is_stored and (stored := _stored(keyed_request, now)):
                return _replay(stored, keyed_request)
            reservation = _row(keyed_request, now, secrets, None)
            reservation.save(force_insert=True)
    except IntegrityError as exc:  # another request reserved the key at this moment
        raise _in_flight() from exc
    reserved_rows = StoredAnswer.objects.filter(pk=reservation.pk, status=_IN_FLIGHT)
    with ExitStack() as on_error:
        on_error.callback(_end_reservation, reserved_rows)
        response = work()
        on_error.pop_all()
    if _is_success(response):
        answer_row = _row(keyed_request, database_now(), secrets, response)
        place = encrypted(StoredAnswer, "answer")
        cipher = encryption.cipher_for(keyed_request.organization_id)
        reserved_rows.update(
            status=answer_row.status,
            subject=answer_row.subject,
            answer=place.envelope(cipher, reservation.pk, answer_row.answer),
            expires_at=answer_row.expires_at,
        )
    else:
        reserved_rows.delete()
    return response


def _end_reservation(reserved_rows: QuerySet[StoredAnswer]) -> None:
    with suppress(DatabaseError):  # the reservation then expires by itself
        reserved_rows.delete()


def _lock(keyed_request: KeyedRequest) -> tuple[datetime, bool]:
    """Lock the key for this transaction; return the present time, and whether an answer is stored.

    One statement does both, at half the cost. It does not see what was committed between its start and the lock; in
    that case the insert of the answer fails, and the work runs again.

    raises Conflict if another request holds the lock. The embedded engine's immediate transaction waits for it instead
    """
    place = [
        _PLACE.get_db_prep_value(keyed_request.organization_id, connection),
        keyed_request.route,
        keyed_request.key_digest,
    ]
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.execute(f"select {_IS_STORED}", place)
            return database_now(), bool(cursor.fetchone()[0])
        cursor.execute(
            f"select pg_try_advisory_xact_lock(%s), clock_timestamp(), {_IS_STORED}", [keyed_request.lock, *place]
        )
        is_free, now, is_stored = cursor.fetchone()
    if not is_free:
        raise _in_flight()
    return now, is_stored


def _in_flight() -> Conflict:
    return Conflict(
        f"A request with this {HEADER} is in progress. Repeat it to get its response.",
        code="idempotency_in_flight",
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )


def _stored(keyed_request: KeyedRequest, now: datetime) -> StoredAnswer | None:
    """Return the row of this key; a row that has expired is deleted."""
    rows = StoredAnswer.objects.filter(
        organization_id=keyed_request.organization_id, route=keyed_request.route, key_digest=keyed_request.key_digest
    )
    row = rows.first()
    if row is not None and row.expires_at <= now:
        rows.delete()
        return None
    return row


def _insert(row: StoredAnswer) -> None:
    """Insert the row as `save(force_insert=True)` does, at a fraction of its cost.

    raises commits.LookAgain if another process has just stored an answer to the same request
    """
    values = [column.get_db_prep_save(column.pre_save(row, True), connection) for column in _COLUMNS]
    try:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, values)
    except IntegrityError as exc:
        raise commits.LookAgain from exc


def _replay(stored: StoredAnswer, keyed_request: KeyedRequest) -> HttpResponse:
    """Return the stored answer.

    raises Unprocessable for another request, Conflict while there is no answer yet, Gone `erased`
    """
    if stored.status == _ERASED:
        detail = "The request was completed, but the text in its response has since been erased."
        raise Gone(detail, code="erased")
    if bytes(stored.request_digest) != keyed_request.request_digest:
        raise Unprocessable(
            f"This {HEADER} was used for another body or query. Use a new key for a new request.",
            code="idempotency_key_reused",
        )
    if stored.status == _IN_FLIGHT:
        raise _in_flight()
    response = HttpResponse(str(stored.answer or "").encode(), status=stored.status, content_type="application/json")
    if stored.answer is None:
        del response["Content-Type"]
    response[REPLAYED] = "true"
    return response


def _is_success(response: HttpResponseBase) -> TypeGuard[HttpResponse]:
    return isinstance(response, HttpResponse) and 200 <= response.status_code < 300


def _row(
    keyed_request: KeyedRequest, now: datetime, secrets: Sequence[str], response: HttpResponse | None
) -> StoredAnswer:
    """Build the row of an answer; without a response, that of a reservation."""
    return StoredAnswer(
        organization_id=keyed_request.organization_id,
        route=keyed_request.route,
        key_digest=keyed_request.key_digest,
        request_digest=keyed_request.request_digest,
        subject=in_flight(keyed_request.route) if response is None else _subject(response),
        status=_IN_FLIGHT if response is None else response.status_code,
        answer=None if response is None else _without(secrets, response.content.decode()) or None,
        expires_at=now + (RESERVED if response is None else KEPT),
    )


def _subject(response: HttpResponse | None) -> UUID | None:
    """Return the completion whose text is in the response, or the task if it has the text of several."""
    named = getattr(response, "subject", None)
    return ids.decode(named.rpartition("_")[0], named) if named else None


def _without(secrets: Sequence[str], body: str) -> str:
    """Return the body with null in place of its secrets."""
    if not secrets or not body:
        return body
    answer = json.loads(body)
    for path in secrets:
        *parents, last = path.split(".")
        node: Any = answer
        for parent in parents:
            node = node.get(parent) if isinstance(node, dict) else None
        if isinstance(node, dict) and last in node:
            node[last] = None
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
