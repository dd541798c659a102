"""Model fields that store AES-256-GCM ciphertext, and whose attributes read and take plain values."""

import json
from typing import Any

from django.db import models
from django.db.models.query_utils import DeferredAttribute
from msgspec import UNSET, UnsetType

from autotune.core.crypto import damage, encryption
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable


class Ciphertext(bytes):
    """An envelope as stored. Only this goes into an encrypted column."""


class EncryptedAttribute(DeferredAttribute):
    """Decrypts when read, with the row's own id: the attribute knows its row, a bare value does not."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        if isinstance(value, Ciphertext):
            value = self.field.decrypt(self.field.row_of(instance), value)  # type: ignore[attr-defined]
            instance.__dict__[self.field.attname] = value
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        """Makes this a data descriptor: else the instance's own dictionary would be read before `__get__`."""
        instance.__dict__[self.field.attname] = value


class EncryptedField(models.BinaryField):
    """Base of the encrypted fields. The model has `organization_id`, whose data key encrypts.

    `update()`, `bulk_update()` and lookups with a plain value raise TypeError: they do not know the row. Use `save()`,
    `bulk_create()`, or `envelope()` with `autotune.core.bulk`.

    row  the UUID field to which the ciphertext is bound; another than the primary key where the database numbers rows
    """

    descriptor_class = EncryptedAttribute
    _pyi_private_get_type: Any
    _pyi_private_set_type: Any

    def __init__(self, *args: Any, row: str = "pk", **kwargs: Any) -> None:
        self.row = row
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, kwargs if self.row == "pk" else {**kwargs, "row": self.row}

    def row_of(self, instance: Any) -> Any:
        """Return the id to which this row's ciphertext is bound."""
        return getattr(instance, self.row)

    def to_bytes(self, value: Any) -> bytes:
        raise TypeError("use EncryptedTextField or EncryptedJSONField")

    def from_bytes(self, plain: bytes) -> Any:
        raise TypeError("use EncryptedTextField or EncryptedJSONField")

    @property
    def place(self) -> bytes:
        return encryption.place(self.model._meta.db_table, str(self.column))

    def envelope(self, cipher: encryption.Cipher, row_id: Any, value: Any) -> Ciphertext | None:
        """Return the column's value for `value` in the row `row_id`; None stays None."""
        return None if value is None else Ciphertext(cipher.encrypt(self.place, row_id, self.to_bytes(value)))

    def decrypt(self, row_id: Any, stored: bytes | memoryview | None) -> Any:
        """Decrypt the stored value of the row `row_id`.

        raises Undecryptable, after recording the damage (damage.py)
        """
        plain = self.decrypt_bytes(row_id, stored)
        return None if plain is None else self.from_bytes(plain)

    def decrypt_bytes(self, row_id: Any, stored: bytes | memoryview | None) -> bytes | None:
        """Decrypt the stored value to the bytes that were encrypted.

        raises Undecryptable, as `decrypt`
        """
        if stored is None:
            return None
        try:
            return encryption.decrypt(self.place, row_id, bytes(stored))
        except Undecryptable as exc:
            self.note(row_id, exc)
            raise

    def note(self, row_id: Any, exc: Undecryptable) -> None:
        """Record that the value of this row is damaged. A missing master key is not damage."""
        if isinstance(exc, MasterKeyMissing):
            return
        if exc.data_key is not None:
            damage.note("core_datakey", "wrapped", exc.data_key, str(exc))
        else:
            damage.note(self.model._meta.db_table, str(self.column), row_id, str(exc))

    def pre_save(self, model_instance: Any, add: bool) -> Ciphertext | None:
        value = model_instance.__dict__.get(self.attname)
        if value is None or isinstance(value, Ciphertext):
            return value
        return self.envelope(encryption.cipher_for(model_instance.organization_id), self.row_of(model_instance), value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Ciphertext | None:
        return None if value is None else Ciphertext(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        if value is not None and not isinstance(value, Ciphertext):
            raise TypeError(f"{self.model.__name__}.{self.name} is encrypted by row; set the attribute and save() it.")
        return super().get_db_prep_value(value, connection, prepared)

    def get_lookup(self, lookup_name: str) -> Any:
        if lookup_name != "isnull":
            raise TypeError(f"{self.model.__name__}.{self.name} is encrypted and cannot be searched.")
        return super().get_lookup(lookup_name)

    def value_to_string(self, obj: Any) -> str:
        raise TypeError("encrypted fields are not serialized")


class LegibleRow:
    """Reads a row's attributes so that a damaged one does not hide the rest.

    `LegibleRow(task).metadata` is the value, or None if it cannot be decrypted; `unreadable` then lists its name.
    """

    def __init__(self, row: models.Model) -> None:
        self._row = row
        self.unreadable: list[str] = []

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._row, name)
        except Undecryptable:
            self.unreadable.append(name)
            return None

    def read(self, *names: str) -> None:
        """Try to decrypt these attributes, so that `unreadable` lists the damaged ones."""
        for name in names:
            getattr(self, name)

    def marker(self) -> list[str] | UnsetType:
        """Return the member `unreadable` of an answer: the damaged names read so far; absent if there are none."""
        return self.unreadable or UNSET


def is_legible(row: models.Model, name: str) -> bool:
    """Whether an encrypted attribute can be decrypted, and so shown."""
    try:
        getattr(row, name)
    except Undecryptable:
        return False
    return True


def is_damaged(row: models.Model, name: str) -> bool:
    """Whether an encrypted attribute is damaged, so that another value may replace it.

    raises MasterKeyMissing, because the attribute may then be intact
    """
    try:
        getattr(row, name)
    except MasterKeyMissing:
        raise
    except Undecryptable:
        return True
    return False


def refresh(row: models.Model) -> None:
    """Reload a row without its encrypted fields: `refresh_from_db` decrypts them all, and fails if one is damaged."""
    row.refresh_from_db(
        fields=[field.name for field in row._meta.concrete_fields if not isinstance(field, EncryptedField)]
    )


def encrypted(model: type[models.Model], name: str) -> EncryptedField:
    """Return the encrypted field of a model by name, for code that reads or writes its column by itself."""
    field = model._meta.get_field(name)
    if not isinstance(field, EncryptedField):
        raise TypeError(f"{model.__name__}.{name} is not encrypted")
    return field


class EncryptedTextField(EncryptedField):
    """Text, encrypted as UTF-8."""

    def to_bytes(self, value: Any) -> bytes:
        return str(value).encode()

    def from_bytes(self, plain: bytes) -> str:
        return plain.decode()


class EncryptedJSONField(EncryptedField):
    """A JSON value, encrypted as its text. Member order is kept."""

    def to_bytes(self, value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def from_bytes(self, plain: bytes) -> Any:
        return json.loads(plain)


class EncryptedNoteField(EncryptedTextField):
    """Text that is mostly empty. Empty text is null in the column: it costs nothing, and `update()` accepts it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"null": True, "blank": True, **kwargs})

    def get_default(self) -> str:
        return ""

    def envelope(self, cipher: encryption.Cipher, row_id: Any, value: Any) -> Ciphertext | None:
        return super().envelope(cipher, row_id, value or None)

    def decrypt(self, row_id: Any, stored: bytes | memoryview | None) -> Any:
        return super().decrypt(row_id, stored) or ""

    def pre_save(self, model_instance: Any, add: bool) -> Ciphertext | None:
        return super().pre_save(model_instance, add) if model_instance.__dict__.get(self.attname) else None

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return "" if value is None else Ciphertext(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return super().get_db_prep_value(value or None, connection, prepared)
