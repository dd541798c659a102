"""The command line `autotune`: scores JSONL files and serves graders."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Sequence
from typing import Any

from .._version import VERSION

SCORE = """Submits each line {prompt|messages|variables, response, modelId, metadata?} of a JSONL file to a task, waits
for the rewards and writes a table in the order of the lines. You can interrupt
it at any point and repeat it to continue: each line is one completion.

The key comes from AUTOTUNE_API_KEY, the server from AUTOTUNE_BASE_URL."""

EXIT_CODES = """exit codes of `score`:
  0    the file was written and every line has a score
  1    the file was written; some lines have no score (see the columns status and error)
  2    wrong arguments or input; nothing was submitted
  3    the server refused or could not be reached; repeat the command to continue
  4    --wait ran out; repeat the command to continue
  130  interrupted; repeat the command to continue"""


def build_parser() -> argparse.ArgumentParser:
    """Build the parser for the arguments of all commands."""
    parser = argparse.ArgumentParser(prog="autotune", description="Autotune from the command line.")
    parser.add_argument("--version", action="version", version=f"autotune {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_score(commands)
    _add_grader(commands)
    return parser


def _add_score(commands: Any) -> None:
    score = commands.add_parser(
        "score",
        help="score the lines of a JSONL file",
        description=SCORE,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    score.add_argument("file", metavar="FILE.jsonl")
    score.add_argument("--task", required=True, metavar="TASK", help="id of the task")
    score.add_argument("--out", required=True, metavar="OUT", help="file to write: .parquet or .jsonl")
    score.add_argument("--model", metavar="NAME", help="model id for lines without one")
    score.add_argument("--model-field", default="modelId", metavar="FIELD", help="default: modelId")
    score.add_argument("--prompt-field", default="prompt", metavar="FIELD", help="default: prompt")
    score.add_argument("--response-field", default="response", metavar="FIELD", help="default: response")
    score.add_argument("--priority", choices=("low", "normal", "high"))
    score.add_argument(
        "--batch-size",
        type=_batch_size,
        default=500,
        metavar="N",
        help="lines in one request, 1 to 10000 (default: 500)",
    )
    score.add_argument("--wait", type=_seconds, metavar="SECONDS", help="seconds to wait at most (default: no limit)")
    score.add_argument("--base-url", metavar="URL", help="address of the server (default: AUTOTUNE_BASE_URL)")
    score.add_argument("--quiet", action="store_true", help="do not show progress on standard error")


def _add_grader(commands: Any) -> None:
    from ..grader.__main__ import EPILOG, add_arguments

    grader = commands.add_parser("grader", help="serve a grader made with the kit")
    actions = grader.add_subparsers(dest="action", required=True, metavar="ACTION")
    serve = actions.add_parser("serve", help="serve module:grader", epilog=EPILOG)
    add_arguments(serve)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    arguments = build_parser().parse_args(argv)
    if arguments.command == "grader":
        from ..grader.__main__ import run as serve

        try:
            return serve(arguments)
        except OSError as exc:
            print(f"autotune: cannot serve: {exc}", file=sys.stderr)
            return 1
    from .score import run

    _end_on_term()
    return run(arguments)


def _end_on_term() -> None:
    """Let SIGTERM end the command as Ctrl-C does, so that no partial file remains."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(ValueError):  # not the main thread: the calling program keeps its signal handlers
        signal.signal(signal.SIGTERM, stop)


def _batch_size(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 10_000:
        raise argparse.ArgumentTypeError("must be 1 to 10000")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return number
