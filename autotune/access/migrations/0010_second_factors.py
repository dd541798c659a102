"""Secrets of second factors move to where re-encryption comes by; the sessions of before end, and their tables go."""

import base64
import hashlib
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.db import migrations

from autotune.core import ids
from autotune.core.crypto import encryption

INSTALLATION = UUID(int=0)
BEFORE = "v1."
REFERENCE = "secret."


def move(apps: Any, schema_editor: Any) -> None:
    """Each secret becomes a row of its own, and its place in django-allauth's row names that."""
    secret = apps.get_model("access", "SecondFactorSecret")
    column = secret._meta.get_field("secret")
    for row in apps.get_model("mfa", "Authenticator").objects.order_by("pk"):
        moved = dict(row.data)
        for member, value in row.data.items():
            if isinstance(value, str) and value.startswith(BEFORE):
                new = secret(id=ids.new(), user_id=row.user_id)
                cipher = encryption.cipher_for(INSTALLATION)
                new.secret = column.envelope(cipher, new.pk, _unseal(row.user_id, value))
                new.save(force_insert=True)
                moved[member] = f"{REFERENCE}{new.pk}"
        if moved != row.data:
            row.data = moved
            row.save(update_fields=["data"])


def _unseal(person: UUID, sealed: str) -> str:
    """As it was read before: under a key that was derived from the installation's digest key."""
    octets = base64.b64decode(sealed.removeprefix(BEFORE), validate=True)
    key = hashlib.sha256(b"second-factor" + encryption.digest_key(INSTALLATION)).digest()
    bound_to = encryption.place("mfa_authenticator", "data") + person.bytes
    nonce, rest = octets[: encryption.NONCE_BYTES], octets[encryption.NONCE_BYTES :]
    return AESGCM(key).decrypt(nonce, rest, bound_to).decode()


class Migration(migrations.Migration):
    dependencies = [("access", "0009_logins"), ("mfa", "0003_authenticator_type_uniq")]
    operations = [
        migrations.RunPython(move, migrations.RunPython.noop, elidable=True),
        migrations.RunSQL("DROP TABLE IF EXISTS usersessions_usersession", migrations.RunSQL.noop),
        migrations.RunSQL("DROP TABLE IF EXISTS django_session", migrations.RunSQL.noop),
        # so that a release of before, if one goes back to it, makes them again
        migrations.RunSQL(
            "DELETE FROM django_migrations WHERE app IN ('sessions', 'usersessions')", migrations.RunSQL.noop
        ),
    ]
