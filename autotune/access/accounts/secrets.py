"""The secrets of second factors: rows of our own, encrypted as everything else and re-encrypted with it.

django-allauth keeps a text in a JSON column, where re-encryption does not come by; it is given the name of the row.
"""

from typing import Any, Final
from uuid import UUID

from autotune.access.models import SecondFactorSecret
from autotune.core.crypto.encryption import Undecryptable

REFERENCE: Final = "secret."
NONE: Final = UUID(int=0)  # no row has it


def keep(person: UUID, text: str) -> str:
    """Keep a secret of this person; the reference by which it is read."""
    return REFERENCE + str(SecondFactorSecret.objects.create(user_id=person, secret=text).pk)


def read(person: UUID, reference: str) -> str:
    """The secret.

    raises Undecryptable if it is another person's, or gone
    """
    row = SecondFactorSecret.objects.filter(pk=_row(reference), user_id=person).first()
    if row is None:
        raise Undecryptable("the second factor's secret does not belong to this person")
    return str(row.secret)


def forget(data: dict[str, Any]) -> None:
    """Delete the secrets that a row of django-allauth's names."""
    named = [_row(value) for value in data.values() if isinstance(value, str) and value.startswith(REFERENCE)]
    SecondFactorSecret.objects.filter(pk__in=named).delete()


def _row(reference: str) -> UUID:
    try:
        return UUID(reference.removeprefix(REFERENCE))
    except ValueError:
        return NONE
