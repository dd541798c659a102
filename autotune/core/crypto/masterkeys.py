"""Parses AUTOTUNE_ENCRYPTION_KEYS. Separate from `encryption`, so that the settings can reject a bad value."""

import re

from django.core.exceptions import ImproperlyConfigured


def parse(text: str) -> dict[str, bytes]:
    """Return the 32-byte keys by id, in the given order: the first wraps new data keys.

    raises ImproperlyConfigured, without any part of a key in its message
    """
    masters: dict[str, bytes] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, digits = entry.partition(":")
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name) or not re.fullmatch(r"[0-9A-Fa-f]{64}", digits):
            raise ImproperlyConfigured("AUTOTUNE_ENCRYPTION_KEYS: each entry is `id:64 hex digits`, comma-separated.")
        if name in masters:
            raise ImproperlyConfigured(f"AUTOTUNE_ENCRYPTION_KEYS: the id {name} appears twice. Use an id once.")
        masters[name] = bytes.fromhex(digits)
    if not masters:
        raise ImproperlyConfigured("AUTOTUNE_ENCRYPTION_KEYS is empty.")
    return masters
