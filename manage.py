#!/usr/bin/env python
"""Django's command line for Autotune."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "autotune.settings")
    from django.core.management import execute_from_command_line

    from autotune.site import engine

    engine.warn_command(sys.argv[1:])
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
