"""Run the work of a request once for its key, and repeat the stored response afterwards."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from typing import Final, TypeGuard

from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from autotune.access import commits
from autotune.access.idempotency import answers
from autotune.access.idempotency.keyed_requests import KeyedRequest
from autotune.access.models import StoredAnswer
from autotune.core.clock import database_now
from autotune.core.crypto import encryption
from autotune.core.crypto.fields import encrypted

_PLACE: Final = StoredAnswer._meta.get_field("organization")
_IS_STORED: Final = (
    "exists (select 1 from access_storedanswer where organization_id = %s and route = %s and key_digest = %s)"
)


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


def _transacted(
    keyed_request: KeyedRequest, work: Callable[[], HttpResponseBase], secrets: Sequence[str]
) -> HttpResponseBase:
    def first_or_again() -> HttpResponseBase:
        now, is_stored = _lock(keyed_request)
        if is_stored and (stored := answers.stored_answer(keyed_request, now)):
            return answers.replay(stored, keyed_request)
        response = work()
        if _is_success(response):
            answers.insert(answers.answer_row(keyed_request, now, secrets, response))
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
            if is_stored and (stored := answers.stored_answer(keyed_request, now)):
                return answers.replay(stored, keyed_request)
            reservation = answers.answer_row(keyed_request, now, secrets, None)
            reservation.save(force_insert=True)
    except IntegrityError as exc:  # another request reserved the key at this moment
        raise answers.in_progress() from exc
    reserved_rows = StoredAnswer.objects.filter(pk=reservation.pk, status=answers.IN_FLIGHT)
    with ExitStack() as on_error:
        on_error.callback(_end_reservation, reserved_rows)
        response = work()
        on_error.pop_all()
    if _is_success(response):
        answer_row = answers.answer_row(keyed_request, database_now(), secrets, response)
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
        raise answers.in_progress()
    return now, is_stored


def _is_success(response: HttpResponseBase) -> TypeGuard[HttpResponse]:
    return isinstance(response, HttpResponse) and 200 <= response.status_code < 300
