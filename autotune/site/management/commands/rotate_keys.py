"""`manage.py rotate_keys [--check]` wraps every data key under the first master key."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from autotune.access.audit import trail
from autotune.core.crypto import keychecks, rotation
from autotune.core.crypto.keyproviders import provider


class Command(BaseCommand):
    help = (
        "Wraps every data key under the first master key, while the server runs, and shows which master keys may be"
        " removed. It does not re-encrypt stored text: `reencrypt` does that."
    )

    requires_system_checks = ()  # they fail if a master key is wrong, and this command reports more about it

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="only show how many data keys each master key wraps")

    def handle(self, *args: Any, **options: Any) -> None:
        refusal = keychecks.refusal()
        if not options["check"] and not refusal:
            self._rotate()
        self._show()
        self._require_open(refusal)
        self._conclude()

    def _show(self) -> None:
        current, key_counts = provider().current(), rotation.wrapped_by()
        for name, count in sorted((key_counts | {current: key_counts.get(current, 0)}).items()):
            self.stdout.write(f"{name}: wraps {count} data keys{' (in use)' if name == current else ''}")

    def _conclude(self) -> None:
        current, key_counts = provider().current(), rotation.wrapped_by()
        if others := [name for name in key_counts if name != current]:
            self.stdout.write(f"Keep {', '.join(others)}: the data keys that they wrap cannot be opened without them.")
        elif key_counts:
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
        self.stdout.write(f"{done.rewrapped} data keys wrapped again under {done.current}.")

    def _require_open(self, refusal: str) -> None:
        """raises CommandError if a master key is missing or wrong, or a data key does not open"""
        faults = [f"{refusal[0].upper()}{refusal[1:]} Nothing was wrapped."] if refusal else []
        unopened = rotation.unopened()
        if unopened.lost:
            counts = ", ".join(f"{count} by {name}" for name, count in sorted(unopened.lost.items()))
            faults.append(
                f"Data keys that no configured master key opens: {counts}. Add or correct those master keys,"
                " and run the command again."
            )
        faults += [
            f"The data key {row.pk} of {row.scope} for {row.period} is damaged: restore its row from a backup."
            for row in unopened.damaged
        ]
        if faults:
            raise CommandError("\n".join(faults))
