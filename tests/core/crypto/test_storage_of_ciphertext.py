"""PostgreSQL does not try to compress ciphertext: that would cost every write, and gain nothing."""

import pytest
from django.db import connection

from autotune.core.crypto import reencryption

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
STORAGE = "select attstorage from pg_attribute where attrelid = %s::regclass and attname = %s"


def test_every_encrypted_column_is_stored_as_it_is():
    found = {}
    for name, field in reencryption.columns().items():
        with connection.cursor() as cursor:
            cursor.execute(STORAGE, [field.model._meta.db_table, field.column])
            found[name] = cursor.fetchone()[0]
    assert len(found) > 10
    assert {name for name, storage in found.items() if storage not in ("e", b"e")} == set()
