"""`manage.py serve` runs every process of the Procfile on this machine, until one ends or a signal arrives."""

import os
import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from autotune.site.local import launch
from autotune.site.local.supervisor import Supervisor, SupervisorError


class Command(BaseCommand):
    help = (
        "Starts web, worker, beat and live as one process tree with the environment of this command, and runs until "
        "Ctrl-C or SIGTERM. When one process ends, all end, so that a process manager can restart the tree."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workers", type=int, default=1, help="how many worker processes (default: 1)")

    def handle(self, *args: Any, **options: Any) -> None:
        env = {
            **os.environ,
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]),
            "PORT": str(settings.PORT),
            "LIVE_PORT": os.environ.get("LIVE_PORT") or "8001",
        }
        logs = settings.DATA_DIR / "logs"
        try:
            with Supervisor(logs, say=self.stdout.write) as tree, suppress(KeyboardInterrupt):
                launch.start_server(tree, env, workers=options["workers"])
                self.stdout.write(f"Autotune serves at {settings.PUBLIC_URL}; logs are in {logs}. Ctrl-C ends it.")
                self.stdout.flush()
                tree.watch()
        except SupervisorError as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write("all processes have ended")
