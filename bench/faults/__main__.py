"""Breaks a whole running server in every way it must survive, and counts: `make faults`, in CI `make faults-short`.

Starts PostgreSQL, Redis, web, workers and beat of its own on free ports of loopback, and removes them afterwards. Prints
a line of JSON for each scenario and a table; the exit status is 1 when anything was lost, doubled, wrong or too slow.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path

from autotune.site.local.supervisor import SupervisorError

from . import ROOT, sabotage
from .database import AWAY
from .report import Result, table
from .scenarios.absence import idle, outage, read_only
from .scenarios.asynchronous import after_days, asynchronous, batches
from .scenarios.embedded import embedded
from .scenarios.hostile import hostile
from .scenarios.hosts import full_redis, hosts, rolling
from .scenarios.kills import kills
from .scenarios.outages import postgres, redis
from .scenarios.rivals import rivals
from .scenarios.webhooks import webhooks
from .servers import end_with
from .stage import FULL, NORMAL, SHORT, Sizes, Stage
from .system import running

Scenario = Callable[[Stage, Result], None]
ON_POSTGRES: dict[str, Scenario] = {
    "kills": kills,
    "redis": redis,
    "postgres": postgres,
    "postgres idle": idle,
    "postgres away": outage,
    "postgres read-only": read_only,
    "rivals": rivals,
    "hosts": hosts,
    "rolling": rolling,
    "redis full": full_redis,
    "hostile": hostile,
    "async": asynchronous,
    "async batches": batches,
    "async after days": after_days,
    "webhooks": webhooks,
}
ON_SQLITE: dict[str, Scenario] = {"embedded": embedded}


def main(arguments: Sequence[str]) -> int:
    a = parse(arguments)
    chosen = {
        engine: {name: run for name, run in scenarios.items() if not a.only or name in a.only}
        for engine, scenarios in (("postgres", ON_POSTGRES), ("embedded", ON_SQLITE))
        if a.engine in (None, engine)
    }
    engines = [engine for engine, scenarios in chosen.items() if scenarios]
    if len(engines) == 2 and a.together:
        with aside([*arguments, "--engine", "embedded"]) as embedded:
            results = play(chosen["postgres"], a, embedded=False)
            results += embedded()
    else:
        results = [result for engine in engines for result in play(chosen[engine], a, embedded=engine == "embedded")]
    print("\n" + table(results))
    if a.json:
        a.json.parent.mkdir(parents=True, exist_ok=True)
        a.json.write_text(json.dumps([json.loads(result.line()) for result in results], indent=1) + "\n")
    return 0 if results and all(result.ok for result in results) else 1


@contextlib.contextmanager
def aside(arguments: Sequence[str]) -> Iterator[Callable[[], list[Result]]]:
    """Another harness beside this one, ended with it; what is yielded waits for its results."""
    parent = os.getpid()
    command = [sys.executable, "-m", "bench.faults", *arguments]
    child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                             start_new_session=True, preexec_fn=lambda: end_with(parent, signal.SIGINT))  # fmt: skip

    def results() -> list[Result]:
        output, _ = child.communicate()
        lines = [line for line in output.splitlines() if line.startswith("{")]
        print(*lines, sep="\n", flush=True)
        parsed = [Result.of(json.loads(line)) for line in lines]
        return parsed or [Result("embedded", problems=[f"it ended with status {child.returncode}"])]

    try:
        yield results
    finally:
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)


def play(scenarios: dict[str, Scenario], a: argparse.Namespace, *, embedded: bool) -> list[Result]:
    """The scenarios one after the other on one system."""
    began, results = time.monotonic(), []
    with running(embedded=embedded, workers=1 if embedded else a.workers, keep=a.keep) as system:
        print(f"{'embedded' if embedded else 'postgres'}: started in {time.monotonic() - began:.1f} s", file=sys.stderr)
        if a.sabotage:
            sabotage.KINDS[a.sabotage](system.database)
        stage = Stage(system, a.sizes, a.seed, a.patience)
        for name, scenario in scenarios.items():
            result, began = Result(name), time.monotonic()
            try:
                scenario(stage, result)
            except (SupervisorError, OSError, HTTPException, *AWAY) as exc:
                result.require("the scenario ends", False, f"{type(exc).__name__}: {exc}"[:600])
            result.require("no process ended by itself", not system.keeper.ended, system.keeper.ended[:3])
            system.keeper.ended.clear()
            result.seconds = time.monotonic() - began
            print(result.line(), flush=True)
            results.append(result)
    return results


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser("faults", formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    form = p.add_mutually_exclusive_group()
    form.add_argument("--short", dest="sizes", action="store_const", const=SHORT, help="a small form for CI")
    form.add_argument(
        "--full", dest="sizes", action="store_const", const=FULL, help="200 kills over 100,000 completions"
    )
    p.set_defaults(sizes=NORMAL)
    p.add_argument("--only", action="append", metavar="NAME", choices=[*ON_POSTGRES, *ON_SQLITE],
                   help=f"one scenario, may be repeated: {', '.join([*ON_POSTGRES, *ON_SQLITE])}")  # fmt: skip
    p.add_argument("--engine", choices=["postgres", "embedded"], help="the scenarios of one engine")
    p.add_argument("--together", action="store_true", help="both engines at the same time")
    p.add_argument("--completions", type=int, help="completions of each scenario, in place of the form's numbers")
    p.add_argument("--kills", type=int)
    p.add_argument("--away", action="append", type=float, metavar="SECONDS",
                   help="length of an outage of PostgreSQL, instead of the default lengths; may be repeated")  # fmt: skip
    p.add_argument("--workers", type=int, default=2, help="worker processes on PostgreSQL")
    p.add_argument("--seed", type=int, default=1, help="of what is killed when")
    p.add_argument("--patience", type=float, default=600, help="seconds that a scenario may take")
    p.add_argument("--sabotage", choices=list(sabotage.KINDS), help="break the server's saves: the run must fail")
    p.add_argument("--keep", action="store_true", help="leave logs and journals in place")
    p.add_argument("--json", type=Path, help="write all results there")
    a = p.parse_args(arguments)
    a.sizes = sized(a.sizes, a.completions, a.kills)
    if a.away:
        a.sizes = replace(a.sizes, outages_s=tuple(a.away))
    return a


def sized(sizes: Sizes, completions: int | None, kills: int | None) -> Sizes:
    if completions is not None:
        sizes = replace(sizes, completions=completions, embedded=completions, asynchronous=completions,
                        events=completions, outage=completions, rivals=completions, healthy=completions)  # fmt: skip
    if kills is not None:
        sizes = replace(sizes, kills=kills, embedded_kills=kills, event_kills=kills, async_kills=kills)
    return sizes


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except SupervisorError as exc:
        raise SystemExit(str(exc)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
