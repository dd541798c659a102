"""`manage.py counters check [--task ID] [--repair]`, `manage.py counters build` and `manage.py counters fold`."""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from autotune.access.models import Organization
from autotune.core import ids
from scores.counters import building, folding, triggers


class Command(BaseCommand):
    help = "Check the counters of scores against the rows that they count; repair, build or fold them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        check = acts.add_parser("check", help="compare counters and rows, task by task; exit 1 if any differ")
        check.add_argument("--task", metavar="ID", help="only this task: a `task_…` id")
        check.add_argument("--repair", action="store_true", help="rebuild the counters that differ from the rows")
        acts.add_parser(
            "build", help="build the counters of all tasks that have none yet; continues where it was stopped"
        )
        acts.add_parser("fold", help="fold all tallies now, as the job does every 15 s")

    def handle(self, *args: Any, act: str, **options: Any) -> None:
        if act == "check":
            self._check(_task_ids(options["task"]), repair=options["repair"])
        elif act == "build":
            built = 0
            while count := building.build_waiting():
                built += count
            self.stdout.write(f"Counters of {built} tasks built.")
        else:
            folded = 0
            while count := folding.fold():
                folded += count
            self.stdout.write(f"{folded} tallies folded.")

    def _check(self, task_ids: Iterable[UUID], *, repair: bool) -> None:
        if missing_names := triggers.missing(connection):
            if not repair:
                raise CommandError(
                    f"Triggers are missing: {', '.join(sorted(missing_names))}. Run `manage.py migrate`.", returncode=1
                )
            triggers.install(connection)
            self.stdout.write("Created the missing triggers.")
        wrong = 0
        for organization_id in Organization.objects.order_by("pk").values_list("pk", flat=True):
            if not building.check_organization(organization_id, repair=repair):
                wrong += 1
                self.stdout.write(f"{ids.encode('org', organization_id)}: counters differ from those of its tasks")
        for task_id in task_ids:
            if building.is_behind(task_id) or building.check(task_id):
                continue
            wrong += 1
            self.stdout.write(f"{ids.encode('task', task_id)}: counters differ from the rows")
            if repair:
                building.build(task_id)
        if wrong and not repair:
            differing = "set of counters differs" if wrong == 1 else "sets of counters differ"
            raise CommandError(f"{wrong} {differing}. Run the command with --repair to correct them.", returncode=1)
        self.stdout.write(f"{wrong} sets of counters repaired." if wrong else "The counters equal the rows.")


def _task_ids(public_id: str | None) -> Iterable[UUID]:
    if public_id is None:
        return building.task_ids()
    try:
        return [ids.decode("task", public_id)]
    except ValueError:
        raise CommandError("Enter the id of a task, such as `task_…`.") from None
