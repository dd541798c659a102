"""`manage.py reencrypt [--start [--organization ID] [--month YYYY-MM]] [--now] [--json]` re-encrypts stored values."""

import json
import re
import time
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from autotune.access.audit import trail
from autotune.access.models import Organization
from autotune.core import clock, ids
from autotune.core.crypto import reencryption
from autotune.core.crypto.reencryption import SETTLES_AFTER
from autotune.core.models import DataKey, Reencryption


class Command(BaseCommand):
    help = "Starts a re-encryption under new data keys, which the workers carry out, or shows its progress."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--start", action="store_true", help="retire data keys, and start the re-encryption")
        parser.add_argument("--organization", metavar="ID", help="only the data keys of this organization")
        parser.add_argument("--month", metavar="YYYY-MM", action="append", help="only those of this month; repeatable")
        parser.add_argument(
            "--settle-minutes",
            type=int,
            default=int(SETTLES_AFTER.total_seconds() // 60),
            help="minutes in which a process may still write under a retired data key; default %(default)s",
        )
        parser.add_argument(
            "--nothing-serves",
            action="store_true",
            help="no other process uses the database now; allows --settle-minutes 0",
        )
        parser.add_argument("--now", action="store_true", help="also work in this process, until nothing is due")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["start"]:
            self._start(options)
        elif options["organization"] or options["month"]:
            raise CommandError("--organization and --month require --start.")
        if options["now"]:
            while self._due():
                reencryption.work()
                time.sleep(0.05)  # another worker may still work on the last column
        self._show(as_json=options["json"])

    @transaction.atomic
    def _start(self, options: dict[str, Any]) -> None:
        months = options["month"]
        if wrong := [month for month in months or () if not re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", month)]:
            raise CommandError(f"--month: {wrong[0]!r} is not a month. Enter YYYY-MM, such as 2026-11.")
        least = 0 if options["nothing_serves"] else 1
        if options["settle_minutes"] < least:
            raise CommandError(
                f"--settle-minutes: enter {least} or more. Processes still write under a retired key for half a minute."
            )
        organization = _organization(options["organization"])
        count = reencryption.start(
            scope=organization.pk if organization else None,
            periods=months,
            settles_after=timedelta(minutes=options["settle_minutes"]),
        )
        trail.record(
            action="reencryption.started",
            resource="encryption",
            actor="reencrypt",
            organization=organization,
            objects_count=count,
        )
        self.stderr.write(f"{count} data keys retired.")

    def _due(self) -> bool:
        return Reencryption.objects.filter(finished_at=None, due_at__lte=clock.database_now()).exists()

    def _show(self, *, as_json: bool) -> None:
        rows = list(Reencryption.objects.order_by("pk"))
        retired = DataKey.objects.exclude(retired_at=None).count()
        if as_json:
            self.stdout.write(json.dumps({"retiredKeys": retired, "columns": [_as_json(row) for row in rows]}))
            return
        for row in rows:
            self.stdout.write(f"{row.column:40} {_state(row)}")
        self.stdout.write(_conclusion(rows, retired))


def _organization(text: str | None) -> Organization | None:
    if text is None:
        return None
    try:
        organization = Organization.objects.filter(pk=ids.decode("org", text)).first()
    except ValueError:
        organization = None
    if organization is None:
        raise CommandError(f"--organization: there is no organization {text}.")
    return organization


def _as_json(row: Reencryption) -> dict[str, Any]:
    return {
        "column": row.column,
        "pass": row.number,
        "done": row.done,
        "total": row.total,
        "rewritten": row.rewritten,
        "unreadable": row.unreadable,
        "dueAt": clock.wire(row.due_at),
        "finishedAt": clock.wire(row.finished_at) if row.finished_at else None,
    }


def _state(row: Reencryption) -> str:
    rewritten = f"{row.rewritten} re-encrypted"
    if row.finished_at:
        return f"done, {rewritten}" + (f", {row.unreadable} cannot be read" if row.unreadable else "")
    if row.started_at is None:
        return f"pass {row.number} from {clock.wire(row.due_at)}, {rewritten}"
    share = 100 if not row.total else min(100, 100 * row.done // row.total)
    return f"pass {row.number}: {row.done} of {row.total} rows ({share} %), {rewritten}"


def _conclusion(rows: list[Reencryption], retired: int) -> str:
    if not retired:
        return "No data key is retired: there is nothing to re-encrypt."
    if any(row.unreadable for row in rows if row.finished_at):
        return f"{retired} retired data keys are kept: values under them cannot be read. The log names their rows."
    return f"{retired} retired data keys are deleted when every column is done."
