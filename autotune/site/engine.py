"""Report that a process uses SQLite, where an operator might expect PostgreSQL."""

import logging
import sys
from typing import Final

from django.conf import settings

COMMANDS: Final = frozenset({"bootstrap", "check", "createsuperuser", "migrate", "rotate_keys", "serve"})

log = logging.getLogger(__name__)


def note() -> str | None:
    """Return the sentence that reports SQLite; None on PostgreSQL."""
    if settings.DATABASE_URL:
        return None
    return (
        f"DATABASE_URL is not set: Autotune uses SQLite, {settings.DATABASES['default']['NAME']}, for one machine. "
        "Set it to use PostgreSQL."
    )


def warn_process() -> None:
    """Write the sentence to the log of a process that has just started."""
    if sentence := note():
        log.warning(sentence)


def warn_command(arguments: list[str]) -> None:
    """Write the sentence to standard error before a command that sets up or checks an installation.

    arguments  the command's name and its arguments
    """
    if arguments and arguments[0] in COMMANDS and (sentence := note()):
        print(f"NOTE: {sentence}", file=sys.stderr)
