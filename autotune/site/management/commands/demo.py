"""`manage.py demo [--once]` runs the whole product on this machine, with sample completions (see `make demo`)."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from autotune.site.demo.show import run
from autotune.site.local.supervisor import SupervisorError


class Command(BaseCommand):
    help = "Starts web, worker, beat, live and a demo grader, scores samples, shows the result and runs until Ctrl-C."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            default=os.environ.get("DEMO_ONCE", "") not in ("", "0"),
            help="end all processes after the training data is written (also DEMO_ONCE=1)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run(once=options["once"], say=self._say)
        except SupervisorError as exc:
            raise CommandError(str(exc)) from exc
        except KeyboardInterrupt:
            self._say("\ninterrupted; all processes have ended")
            sys.exit(130)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
