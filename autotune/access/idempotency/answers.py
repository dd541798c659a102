"""The rows of stored answers: build, insert, find, replay, erase and delete them."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from django.db import IntegrityError, connection
from django.http import HttpResponse

from autotune.access import commits
from autotune.access.idempotency.keyed_requests import HEADER, KeyedRequest
from autotune.access.models import StoredAnswer
from autotune.core import ids
from autotune.core.errors import Conflict, Gone, Unprocessable

REPLAYED: Final = "Idempotency-Replayed"
KEPT: Final = timedelta(hours=24)
RESERVED: Final = timedelta(minutes=6)  # longer than any work that waits for another server or for rewards
RETRY_AFTER_S: Final = 1
CLEANED_AT_ONCE: Final = 5_000
IN_FLIGHT: Final = 0  # as the status of a row: reserved, not yet answered
_ERASED: Final = 410  # the answer contained text that has since been erased; nothing of the request is kept either
_COLUMNS: Final = tuple(StoredAnswer._meta.concrete_fields)
_INSERT: Final = (
    f"insert into access_storedanswer ({', '.join(str(column.column) for column in _COLUMNS)}) "  # noqa: S608 - names of the model
    f"values ({', '.join(['%s'] * len(_COLUMNS))})"
)


def answer_row(
    keyed_request: KeyedRequest, now: datetime, secrets: Sequence[str], response: HttpResponse | None
) -> StoredAnswer:
    """Build the row of an answer; without a response, that of a reservation."""
    return StoredAnswer(
        organization_id=keyed_request.organization_id,
        route=keyed_request.route,
        key_digest=keyed_request.key_digest,
        request_digest=keyed_request.request_digest,
        subject=in_flight(keyed_request.route) if response is None else _subject(response),
        status=IN_FLIGHT if response is None else response.status_code,
        answer=None if response is None else without_secrets(secrets, response.content.decode()) or None,
        expires_at=now + (RESERVED if response is None else KEPT),
    )


def insert(row: StoredAnswer) -> None:
    """Insert the row as `save(force_insert=True)` does, at a fraction of its cost.

    raises commits.Rerun if another process has just stored an answer to the same request
    """
    values = [column.get_db_prep_save(column.pre_save(row, True), connection) for column in _COLUMNS]
    try:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, values)
    except IntegrityError as exc:
        raise commits.Rerun from exc


def stored_answer(keyed_request: KeyedRequest, now: datetime) -> StoredAnswer | None:
    """Return the row of this key; a row that has expired is deleted."""
    rows = StoredAnswer.objects.filter(
        organization_id=keyed_request.organization_id, route=keyed_request.route, key_digest=keyed_request.key_digest
    )
    row = rows.first()
    if row is not None and row.expires_at <= now:
        rows.delete()
        return None
    return row


def replay(stored: StoredAnswer, keyed_request: KeyedRequest) -> HttpResponse:
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
    if stored.status == IN_FLIGHT:
        raise in_progress()
    response = HttpResponse(str(stored.answer or "").encode(), status=stored.status, content_type="application/json")
    if stored.answer is None:
        del response["Content-Type"]
    response[REPLAYED] = "true"
    return response


def in_progress() -> Conflict:
    return Conflict(
        f"A request with this {HEADER} is in progress. Repeat it to get its response.",
        code="idempotency_in_flight",
        headers={"Retry-After": str(RETRY_AFTER_S)},
    )


def in_flight(route: str) -> UUID:
    """Return the placeholder subject of a request in progress, by which `forget` keeps its answer from being stored."""
    return uuid5(NAMESPACE_URL, route)


def forget(subjects: Collection[UUID], *, about: str = "") -> None:
    """Erase the stored answers that contain text of these completions; a repeated request then gets 410.

    about  erase only the answers of routes that contain this; empty: of all routes
    """
    rows = StoredAnswer.objects.filter(subject__in=subjects)
    if about:
        rows = rows.filter(route__contains=about)
    rows.update(status=_ERASED, answer=None, request_digest=b"")


def clean(now: datetime) -> int:
    """Delete the answers that have expired, and return how many."""
    total = 0
    expired = StoredAnswer.objects.filter(expires_at__lte=now).order_by("expires_at").values_list("pk", flat=True)
    while expired_ids := list(expired[:CLEANED_AT_ONCE]):
        total += StoredAnswer.objects.filter(pk__in=expired_ids, expires_at__lte=now).delete()[0]
    return total


def _subject(response: HttpResponse | None) -> UUID | None:
    """Return the completion whose text is in the response, or the task if it has the text of several."""
    named = getattr(response, "subject", None)
    return ids.decode(named.rpartition("_")[0], named) if named else None


def without_secrets(secrets: Sequence[str], body: str) -> str:
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
