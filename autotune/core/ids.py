"""Public ids: a kind, an underscore and 26 characters of Crockford base32 over a UUIDv7 (TypeID 0.3)."""

import re
from datetime import datetime
from uuid import UUID

from uuid_utils.compat import uuid7

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
SUFFIX = "[0-7][0-9a-hjkmnp-tv-z]{25}"
PAIRS = [high + low for high in ALPHABET for low in ALPHABET]
DIGITS = {char: number for number, char in enumerate(ALPHABET)}
_SUFFIX = re.compile(SUFFIX)


def new() -> UUID:
    """Return a new UUIDv7: ids made later sort later, to the millisecond."""
    return uuid7()


def first_of(moment: datetime) -> UUID:
    """Return the lowest UUIDv7 of a moment, as a lower bound in time for primary keys."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


def encode(kind: str, value: UUID) -> str:
    """Return the public id of a UUID, such as `comp_01jd…` for kind `comp`."""
    number = value.int
    return f"{kind}_{''.join([PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])}"


def decode(kind: str, text: str) -> UUID:
    """Return the UUID of a public id.

    raises ValueError if the text is not `kind`, an underscore and a well-formed suffix
    """
    prefix, _, suffix = text.rpartition("_")
    if prefix != kind or not _SUFFIX.fullmatch(suffix):
        raise ValueError(f"not a {kind}_ id")
    number = 0
    for char in suffix:
        number = number << 5 | DIGITS[char]
    return UUID(int=number)
