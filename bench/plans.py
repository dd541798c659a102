#!/usr/bin/env python3
"""Takes the plan of every statement of the hot path, the sweep and the periodic works, in three states: `make bench-plans`.

A query plan must not depend on luck: PostgreSQL may have taken its statistics while nothing was queued, while 200,000 runs
waited, or with 5,000,000 stored. Makes a database of its own (autotune_bench_plans, afresh each time), fills it to each of
these states, runs the real code (plan_paths.py) and takes the plan of each statement that it executes with the parameters
that it has (plan_capture.py), once as the planner sees them and once as a generic plan. Fails where a statement reads a
whole table that grows with the history, looks at more rows than any group of work has, or where a path executes nothing.

  plans.py --short              smaller tables, about two minutes; what CI runs
  plans.py --drains             three drains of 20,000 with an ANALYZE of the idle queue between them, and their CPU;
                                one more with 1,500,000 scores stored
  plans.py --only PATH --list   one path; every statement and not only the bad ones
"""

import argparse, logging, os, pathlib, secrets, sys, time  # noqa: E401
from contextlib import contextmanager

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]
LOCAL_POSTGRES, LOCAL_REDIS = "postgres://postgres@127.0.0.1:5432/postgres", "redis://127.0.0.1:6379/8"
DATABASE = "autotune_bench_plans"
HISTORY, PENDING, STORED = 40_000, 200_000, 5_000_000
SHORT_HISTORY, SHORT_PENDING, SHORT_STORED = 25_000, 30_000, 60_000
CHUNK = 250_000


def prepare(name, *, short=False):
    """A fresh database with the product's tables, in this process."""
    from autotune.site.local import databases

    url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, name)
    databases.create_afresh(url)
    os.environ["DATABASE_URL"] = url
    os.environ.setdefault("REDIS_URL", LOCAL_REDIS)
    os.environ["SECRET_KEY"] = secrets.token_urlsafe(48)
    os.environ["AUTOTUNE_ENCRYPTION_KEYS"] = f"k1:{secrets.token_hex(32)}"
    os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.KEY_RATE_PER_MINUTE = 0
    settings.DEMAND_SECOND_FACTOR = False
    logging.disable(logging.ERROR)  # texts of the history are none
    call_command("migrate", verbosity=0)
    call_command("createcachetable", verbosity=0)
    still()
    if short:
        weigh_as_large()


def weigh_as_large():
    """Let plans of small tables be those of large ones.

    PostgreSQL rightly reads a table of 40,000 rows whole for the 1,000 ids of a group. With the cost of random pages
    that suits an SSD it looks them up, as it does at any cost in the tables of the full form.
    """
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"alter database {DATABASE} set random_page_cost = 1.1")  # for connections to come
        cursor.execute("set random_page_cost = 1.1")


def still():
    """Statistics change in this database when the bench says so and at no other time."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select relname from pg_stat_user_tables")
        for (name,) in cursor.fetchall():
            cursor.execute(f"alter table {name} set (autovacuum_enabled = false)")


class Bench:
    def __init__(self, a):
        self.a = a
        self.paths = []
        self.failures = {}

    def run(self):
        from bench import plan_capture, plan_paths
        from django.db import connection
        from tests.support.fakes import serving

        self.capture = plan_capture.Capture()
        self.chosen = [
            path for path in plan_paths.PATHS if self.a.only in path.__name__ and path.__name__ not in self.a.without
        ]
        stub = plan_paths.Stub()
        with serving(stub.fake), connection.execute_wrapper(self.capture):
            from bench.plan_states import World

            self.world = World(stub.fake.url)
            self.world.stub, self.world.release, self.world.capture = stub, self.release, self.capture
            for name, fill in self.states():
                began = time.monotonic()
                fill()
                filled = time.monotonic() - began
                self.take(name)
                print(
                    f"{name}: filled in {filled:.0f} s, plans taken in {time.monotonic() - began - filled:.0f} s",
                    flush=True,
                )

    def states(self):
        """(name, how it is filled), each on top of the one before."""
        short = self.a.short
        history, pending, stored = (
            (SHORT_HISTORY, SHORT_PENDING, SHORT_STORED) if short else (HISTORY, PENDING, self.a.stored)
        )
        filler = self.world.filler

        def idle():
            filler.finished(history)
            filler.analyze()
            filler.pending(history // 4)  # comes after the statistics,
            filler.newer(history)  # as do all completions of one task

        def waiting():
            filler.pending(pending)
            filler.analyze()

        def full():
            for start in range(0, stored, CHUNK):
                filler.finished(min(CHUNK, stored - start))
            filler.analyze()

        return ((f"idle, {history:,} finished", idle), (f"{pending:,} pending", waiting), (f"{stored:,} stored", full))

    def take(self, state):
        """Run every path, and take its plans."""
        from bench import plan_capture
        from django.db import connection

        grown = plan_capture.grown_tables(connection)
        for path in self.chosen:
            self.capture.state, before = state, len(self.capture.plans)

            @contextmanager
            def taking(most=plan_capture.MOST_ROWS):
                self.capture.path, self.capture.most = path.__name__, most
                try:
                    yield
                finally:
                    self.capture.path = ""

            path(self.world, taking)
            self.release()
            taken = self.capture.plans[before:]
            if not any(node.table for plan in taken for node in plan.nodes):
                self.fail(state, path.__name__, "", "the path executed no statement", 0)
            for plan in taken:
                for node in plan.faults(grown):
                    self.fail(state, path.__name__, f"{plan.mode}: {plan.statement}", node.name, node.looked_at)
        if number := plan_capture.prepared(connection):
            self.fail(state, "all", "", "the driver prepares statements: plans would be generic", number)

    def fail(self, state, path, statement, fault, rows):
        """Note a failure, once for a statement of a path: in which states, and with how many rows at most."""
        states = self.failures.setdefault((path, statement, fault), {})
        states[state] = max(states.get(state, 0), rows)

    def release(self):
        """No hold, circuit or share of an earlier path is left."""
        from autotune.core import redis
        from graders.models import Grader, GraderGuard

        Grader.objects.update(held_until=None, held_reason="")
        GraderGuard.objects.all().delete()
        keys = [f"autotune:guard:{grader.pk}" for grader in Grader.objects.all()]
        redis.attempt(lambda client: client.delete(*keys), otherwise=None)

    def report(self):
        """The table, and what failed."""
        states = list(dict.fromkeys(plan.state for plan in self.capture.plans))
        print(f"\n| path | {' | '.join(states)} | statements | slowest ms |\n| --- |{' ---: |' * (len(states) + 2)}")
        for path in self.chosen:
            mine = [plan for plan in self.capture.plans if plan.path == path.__name__]
            looked = [
                max((node.looked_at for plan in mine if plan.state == state for node in plan.nodes), default=0)
                for state in states
            ]
            most = " | ".join(f"{number:,}" for number in looked)
            slowest = max((plan.ms for plan in mine), default=0)
            print(f"| {path.__name__} | {most} | {len({plan.statement for plan in mine})} | {slowest:.1f} |")
        print("\nEach figure of a state: the most rows that a node of a plan read.")
        if self.a.list:
            for statement, plans in self.by_statement().items():
                print(f"\n{statement}\n    " + "\n    ".join(plans))
        for (path, statement, fault), rows in self.failures.items():
            print(f"\nFAILED {path}: {fault}")
            print("  " + "; ".join(f"{state}: {number:,} rows" for state, number in rows.items()))
            print(f"  {statement[: self.a.width]}")
        statements = len({plan.statement for plan in self.capture.plans})
        failures = len(self.failures)
        print(
            f"\n{len(self.capture.plans):,} plans of {statements} statements: {f'{failures} FAILED' if failures else 'kept'}"
        )
        return bool(failures)

    def by_statement(self):
        shapes = {}
        for plan in self.capture.plans:
            shape = ", ".join(node.name for node in plan.nodes if node.table)
            shapes.setdefault(plan.statement, {})[f"{plan.state}, {plan.mode}: {shape}"] = None
        return shapes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--stored", type=int, default=STORED)
    parser.add_argument("--only", default="", help="paths whose name holds this")
    parser.add_argument("--without", action="append", default=[], help="a path that is left out")
    parser.add_argument("--list", action="store_true", help="every statement with its plans")
    parser.add_argument("--width", type=int, default=600, help="characters of a statement that are shown")
    parser.add_argument("--drains", action="store_true", help="no plans: drains after an ANALYZE, and an estimate")
    parser.add_argument("--each", type=int, default=20_000, help="completions of a drain")
    parser.add_argument("--history", type=int, default=1_500_000, help="scores stored for the last drain")
    parser.add_argument("--long", type=int, default=100_000, help="completions of the queue of the estimate")
    a = parser.parse_args()
    prepare(DATABASE + "_drains" if a.drains else DATABASE, short=a.short)
    if a.drains:
        from bench import plan_drains

        return plan_drains.report(3, a.each, a.long, a.history)
    bench = Bench(a)
    bench.run()
    return bench.report()


if __name__ == "__main__":
    sys.exit(main())
