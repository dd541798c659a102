"""PostgreSQL does not try to compress ciphertext: that would cost every write, and gain nothing."""

import pytest
from django.db import connection

from autotune.core.crypto import reencryption

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
STORAGE = "select attstorage from pg_attribute where attrelid = %s::regclass and attname = %s"


def test_every_encrypted_column_is_stored_uncompressed():
    storage_by_column = {}
    for name, field in reencryption.columns().items():
        with connection.cursor() as cursor:
            cursor.execute(STORAGE, [field.model._meta.db_table, field.column])
            storage_by_column[name] = cursor.fetchone()[0]
    assert len(storage_by_column) > 10
    assert {name for name, storage in storage_by_column.items() if storage not in ("e", b"e")} == set()
