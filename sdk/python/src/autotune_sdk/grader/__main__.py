"""Serve a grader made with the kit: `python -m autotune_sdk.grader module:grader`."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence

from .kit import Grader
from .secrets import VARIABLE, Secrets

EPILOG = f"""The secret comes from --secret-file or {VARIABLE}. Without one, every request gets a 401,
so you can start it first, register it, and then write the secret to the file."""


def load(name: str) -> Grader:
    """Load the grader named `module:attribute` or `path/to/file.py:attribute` (default attribute: 'grader').

    raises  SystemExit with a message if there is none
    """
    place, _, attribute = name.rpartition(":") if ":" in name else (name, "", "grader")
    try:
        if place.endswith(".py"):
            spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
            if spec is None or spec.loader is None:
                raise SystemExit(f"{place} cannot be loaded")
            module = importlib.util.module_from_spec(spec)
            sys.modules.setdefault(spec.name, module)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(place)
    except (ImportError, FileNotFoundError) as exc:
        raise SystemExit(f"{place}: {exc}") from exc
    grader = getattr(module, attribute, None)
    if not isinstance(grader, Grader):
        raise SystemExit(f"{place} has no Grader called {attribute!r}")
    return grader


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for serving, used by this command and `autotune grader serve`."""
    parser.add_argument("grader", help="module:attribute or file.py:attribute of a Grader")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=9100, help="port to listen on, 0 for a free one (default: 9100)")
    parser.add_argument("--secret-file", metavar="PATH", help="file with the secret, read again when it changes")
    parser.add_argument("--log", metavar="FILE", help="append one JSON line for each graded item")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted; return exit code 0."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    grader = load(arguments.grader)
    if arguments.secret_file:
        grader.secrets = Secrets(grader.secrets.values, arguments.secret_file)
    if arguments.log:
        grader.log_to(arguments.log)
    grader.serve(arguments.port, arguments.host)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Exit codes: 0 ended by a signal, 1 no such grader or address in use, 2 wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m autotune_sdk.grader", description=__doc__, epilog=EPILOG)
    add_arguments(parser)
    try:
        return run(parser.parse_args(argv))
    except OSError as exc:
        print(f"cannot serve: {exc}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
