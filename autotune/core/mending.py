"""Looks again at the values on record as damaged: what can be read by now, or is gone, leaves the record."""

from collections.abc import Iterable

from autotune.core import damage, encryption
from autotune.core.encryption import Undecryptable
from autotune.core.fields import EncryptedField
from autotune.core.models import DamagedValue, DataKey
from autotune.core.reencryption import columns

AT_ONCE = 1_000


def look_again() -> int:
    """Delete the records of values that are not damaged any more, of the oldest AT_ONCE; how many."""
    fields = {(field.model._meta.db_table, str(field.column)): field for field in columns().values()}
    mended = [row.pk for row in DamagedValue.objects.order_by("seen_at", "pk")[:AT_ONCE] if _is_whole(row, fields)]
    DamagedValue.objects.filter(pk__in=mended).delete()
    if mended:
        damage.forget()
    return len(mended)


def _is_whole(record: DamagedValue, fields: dict[tuple[str, str], EncryptedField]) -> bool:
    if record.table == DataKey._meta.db_table:
        return _opens(DataKey.objects.filter(pk=record.row))
    field = fields.get((record.table, record.column))
    if field is None:  # the column is not there any more
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
