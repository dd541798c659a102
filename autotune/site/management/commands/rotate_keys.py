"""`manage.py rotate_keys [--check]`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from autotune.access.audit import trail
from autotune.core import rotation
from autotune.core.keyproviders import provider


class Command(BaseCommand):
    help = (
        "Wraps every data key under the first master key, while the server serves, and says which master keys may be"
        " removed. Texts are not touched: `reencrypt` does that."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only show what wraps how many data keys")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["check"]:
            self._rotate()
        current, held = provider().current(), rotation.wrapped_by()
        for name, count in sorted((held | {current: held.get(current, 0)}).items()):
            self.stdout.write(f"{name}: wraps {count} data keys{' (in use)' if name == current else ''}")
        if others := [name for name in held if name != current]:
            self.stdout.write(f"Keep {', '.join(others)}: what they wrap could not be read without them.")
        else:
            self.stdout.write(
                f"Every data key is wrapped by {current}. Other master keys may be removed once every process has"
                f" {current} as its first key; check again then."
            )

    def _rotate(self) -> None:
        done = rotation.rewrap()
        trail.record(
            action="keys.rotated",
            resource="encryption",
            actor="rotate_keys",
            object_id=done.current,
            objects_count=done.rewrapped,
        )
        self.stdout.write(f"{done.rewrapped} data keys wrapped anew under {done.current}.")
        if done.failed:
            named = ", ".join(f"{count} by {name}" for name, count in sorted(done.failed.items()))
            raise CommandError(f"Data keys that no master key at hand opens: {named}. Add those keys and run it again.")
