"""Checks recorded damaged values again, and deletes the records of those that are readable now or gone."""

from collections.abc import Iterable

from autotune.core.crypto import damage, encryption
from autotune.core.crypto.encryption import Undecryptable
from autotune.core.crypto.fields import EncryptedField
from autotune.core.crypto.reencryption import columns
from autotune.core.models import DamagedValue, DataKey

AT_ONCE = 1_000


def delete_repaired() -> int:
    """Check the oldest AT_ONCE records, delete those of repaired values, and return how many."""
    fields = {(field.model._meta.db_table, str(field.column)): field for field in columns().values()}
    stale_ids = [row.pk for row in DamagedValue.objects.order_by("seen_at", "pk")[:AT_ONCE] if _is_whole(row, fields)]
    DamagedValue.objects.filter(pk__in=stale_ids).delete()
    if stale_ids:
        damage.forget()
    return len(stale_ids)


def _is_whole(record: DamagedValue, fields: dict[tuple[str, str], EncryptedField]) -> bool:
    if record.table == DataKey._meta.db_table:
        return _opens(DataKey.objects.filter(pk=record.row))
    field = fields.get((record.table, record.column))
    if field is None:  # the column no longer exists
        return True
    stored = field.model._base_manager.filter(**{field.row: record.row}).values_list(field.name, flat=True).first()
    if not stored:
        return True
    try:
        encryption.decrypt(field.place, record.row, bytes(stored))
    except Undecryptable:
        return False
    return True


def _opens(rows: Iterable[DataKey]) -> bool:
    """Whether each of these data keys opens; there may be none."""
    try:
        for row in rows:
            encryption.unwrap(row)
    except Undecryptable:
        return False
    return True
