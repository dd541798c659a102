"""Re-encrypts all values under retired data keys, in the background and in bounded steps.

Workers read each column by primary key, in passes. A column is done when a pass that began after all processes stopped
writing under the retired keys finds no value. When all columns are done, the retired keys are dropped. A value is
replaced only if it is still the one that was read, so a concurrent writer always wins. If a worker dies, its lease
expires, and the next worker continues from the cursor.
"""

import logging
import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.apps import apps
from django.db import models, transaction
from django.db.models import BinaryField, F, Func, IntegerField, Q

from autotune.core.clock import database_now
from autotune.core.crypto import encryption, rotation
from autotune.core.crypto.encryption import HEADER_BYTES, MasterKeyMissing, Undecryptable
from autotune.core.crypto.fields import Ciphertext, EncryptedField
from autotune.core.models import DataKey, Reencryption

logger = logging.getLogger(__name__)
SETTLES_AFTER: Final = timedelta(hours=1)  # a process may have hung since it took a data key that was retired then
LEASE: Final = timedelta(minutes=2)
WINDOW: Final = 2_000  # rows read in one query
AT_ONCE: Final = 200  # values rewritten in one transaction
BYTES_AT_ONCE: Final = 8 << 20
SHARE_S: Final = 5.0  # of the ten seconds between two calls of beat


def columns() -> dict[str, EncryptedField]:
    """Return the encrypted columns of all apps by name, such as `tasks.Completion.prompt`."""
    return {
        f"{model._meta.label}.{field.name}": field
        for model in apps.get_models()
        for field in model._meta.local_fields
        if isinstance(field, EncryptedField)
    }


@transaction.atomic
def start(
    *, scope: UUID | None = None, periods: Sequence[str] | None = None, settles_after: timedelta = SETTLES_AFTER
) -> int:
    """Retire data keys (see rotation.retire), plan the re-encryption of their values, and return how many were retired.

    This also plans again for keys that were retired earlier and are not dropped yet.
    """
    list(Reencryption.objects.select_for_update().order_by("pk"))
    count = rotation.retire(scope=scope, periods=periods)
    if rotation.retired():
        Reencryption.objects.all().delete()
        _plan(columns(), database_now(), settles_after)
    return count


def work(*, share_s: float = SHARE_S) -> int:
    """Re-encrypt what is due, for about `share_s` seconds, and return how many values were re-encrypted.

    raises MasterKeyMissing
    """
    if not DataKey.objects.exclude(retired_at=None).exists():
        return 0
    until = time.monotonic() + share_s
    fields = columns()
    if missing := fields.keys() - set(Reencryption.objects.values_list("pk", flat=True)):  # an upgrade brought them
        _plan(missing, database_now(), SETTLES_AFTER)
    rewritten = 0
    while time.monotonic() < until and (row := _claim(fields)):
        rewritten += _Pass(row, fields[row.column], rotation.retired()).run(until)
    drop_what_is_done()
    return rewritten


@transaction.atomic
def drop_what_is_done() -> int:
    """Drop the retired data keys if no column uses them any more; return how many were dropped."""
    rows = {row.pk: row for row in Reencryption.objects.select_for_update().order_by("pk")}
    if any((row := rows.get(name)) is None or not row.finished_at or row.unreadable for name in columns()):
        return 0
    if dropped := rotation.drop_retired():
        logger.info("re-encryption is done: %d retired data keys dropped", dropped)
    return dropped


def _plan(names: Iterable[str], now: datetime, settles_after: timedelta) -> None:
    settled = now + settles_after
    Reencryption.objects.bulk_create(
        [Reencryption(column=name, settled_at=settled, due_at=now) for name in sorted(names)], ignore_conflicts=True
    )


def _claim(fields: dict[str, EncryptedField]) -> Reencryption | None:
    """Lease a column that is due and that no other worker holds."""
    now = database_now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    due = Reencryption.objects.filter(free, finished_at=None, due_at__lte=now, pk__in=list(fields))
    for name in due.order_by("due_at", "pk").values_list("pk", flat=True):
        if due.filter(pk=name).update(leased_until=now + LEASE):
            return Reencryption.objects.get(pk=name)
    return None


class _Pass:
    """A worker's share of a pass over one column, under its lease."""

    def __init__(self, row: Reencryption, field: EncryptedField, retired: dict[bytes, DataKey]) -> None:
        self._row, self._field, self._retired = row, field, retired
        self._rows: models.QuerySet[Any] = field.model._base_manager.all()
        self._lease = row.leased_until

    def run(self, until: float) -> int:
        """Work until the pass or the time ends, or the lease is lost; return how many values were re-encrypted."""
        before = self._row.rewritten
        if self._row.started_at is None:
            self._row.started_at, self._row.total = database_now(), self._rows.count()
        over = False
        while not over and time.monotonic() < until:
            over = self._window()
            if over:
                self._end()
            if not self._keep():
                break
        self._release()
        return self._row.rewritten - before

    def _window(self) -> bool:
        """Re-encrypt the next rows. True if they were the last ones."""
        row = self._row
        rest = self._rows.order_by("pk")
        if row.cursor:
            rest = rest.filter(pk__gt=self._field.model._meta.pk.to_python(row.cursor))
        length = Func(F(self._field.name), function="length", output_field=IntegerField())
        window_rows = list(rest.values_list("pk", _envelope_part(self._field.name, 2, 16), length)[:WINDOW])
        values_with_keys = [(pk, bytes(key), size) for pk, key, size in window_rows if key is not None]
        stale_values = [(pk, size) for pk, key, size in values_with_keys if key in self._retired]
        for key in {key for _, key, _ in values_with_keys} & self._retired.keys():  # made before rows are locked
            encryption.cipher_of(self._retired[key].scope, self._retired[key].period)
        row.stale += len(stale_values)
        for group in _groups(stale_values):
            self._rewrite(group)
        row.done += len(window_rows)
        if window_rows:
            row.cursor = str(window_rows[-1][0])
        return len(window_rows) < WINDOW

    @transaction.atomic
    def _rewrite(self, keys: Sequence[Any]) -> None:
        name, place = self._field.name, self._field.place
        for pk, row_id, stored in (
            self._rows.filter(pk__in=keys).order_by("pk").values_list("pk", self._field.row, name)
        ):
            old = self._retired.get(bytes(stored[1:17])) if stored else None
            if old is None:
                continue  # another process has replaced it
            try:
                text = encryption.decrypt(place, row_id, bytes(stored))
            except MasterKeyMissing:
                raise
            except Undecryptable as exc:
                logger.error("%s of the row %s stays under a retired data key: %s", self._row.column, pk, exc)
                self._row.unreadable += 1
                continue
            new = encryption.cipher_of(old.scope, old.period).encrypt(place, row_id, text)
            as_read = self._rows.alias(head=_envelope_part(name, 1, HEADER_BYTES)).filter(
                pk=pk, head=stored[:HEADER_BYTES]
            )
            self._row.rewritten += as_read.update(**{name: Ciphertext(new)})

    def _end(self) -> None:
        """After the last row, finish the column or plan another pass."""
        row, now = self._row, database_now()
        settled = row.started_at is not None and row.started_at >= row.settled_at
        if row.stale == row.unreadable and settled:
            row.finished_at = now
            return
        row.number += 1
        row.due_at = max(now, row.settled_at)
        row.cursor, row.started_at, row.done, row.stale, row.unreadable = "", None, 0, 0, 0

    def _keep(self) -> bool:
        """Store the progress and renew the lease. False if another worker has the lease, or the pass began again."""
        row, until = self._row, database_now() + LEASE
        names = ("number", "cursor", "done", "total", "stale", "unreadable", "rewritten", "due_at", "started_at",
                 "finished_at")  # fmt: skip
        updated_count = Reencryption.objects.filter(pk=row.pk, leased_until=self._lease).update(
            leased_until=until, **{name: getattr(row, name) for name in names}
        )
        if updated_count:
            self._lease = until
        return bool(updated_count)

    def _release(self) -> None:
        Reencryption.objects.filter(pk=self._row.pk, leased_until=self._lease).update(leased_until=None)


def _envelope_part(name: str, first: int, count: int) -> Func:
    """Return a part of an envelope, so that the rest is not fetched."""
    return Func(
        F(name), function="substr", template=f"%(function)s(%(expressions)s, {first}, {count})",
        output_field=BinaryField(),
    )  # fmt: skip


def _groups(stale_values: Sequence[tuple[Any, int]]) -> Iterable[list[Any]]:
    """Yield primary keys in groups of at most AT_ONCE values and BYTES_AT_ONCE bytes."""
    group: list[Any] = []
    group_bytes = 0
    for pk, size in stale_values:
        if group and (len(group) >= AT_ONCE or group_bytes + size > BYTES_AT_ONCE):
            yield group
            group, group_bytes = [], 0
        group.append(pk)
        group_bytes += size
    if group:
        yield group
