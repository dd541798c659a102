"""Store the secrets of second factors in an encrypted table, which a key rotation re-encrypts like all others.

django-allauth stores text in a JSON column, which re-encryption does not cover; that column gets the row's reference.
"""

from typing import Any, Final
from uuid import UUID

from autotune.access.models import SecondFactorSecret
from autotune.core.crypto.encryption import Undecryptable

REFERENCE: Final = "secret."
NONE: Final = UUID(int=0)  # no row has it


def keep(person: UUID, text: str) -> str:
    """Store a secret of this person, and return the reference by which `read` finds it."""
    return REFERENCE + str(SecondFactorSecret.objects.create(user_id=person, secret=text).pk)


def read(person: UUID, reference: str) -> str:
    """Return the secret with this reference.

    raises Undecryptable if it belongs to another person, or was deleted
    """
    row = SecondFactorSecret.objects.filter(pk=_row(reference), user_id=person).first()
    if row is None:
        raise Undecryptable("the second factor's secret does not belong to this person")
    return str(row.secret)


def forget(data: dict[str, Any]) -> None:
    """Delete the secrets to which a row of django-allauth refers."""
    named = [_row(value) for value in data.values() if isinstance(value, str) and value.startswith(REFERENCE)]
    SecondFactorSecret.objects.filter(pk__in=named).delete()


def _row(reference: str) -> UUID:
    try:
        return UUID(reference.removeprefix(REFERENCE))
    except ValueError:
        return NONE
