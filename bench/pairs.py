#!/usr/bin/env python3
"""Preference pairs of 1,000,000 scored completions of 100,000 prompts: `make bench-pairs`.

Fills a database of its own (autotune_bench_pairs, made afresh unless --keep) with completions of about 1.6 KB and their
rewards; ten answers a prompt, of which one repeats another. Then asks for pairs as the API does, by each strategy, and
reads a whole `preferences` layout; each in a process of its own, whose peak is VmHWM. Prints a markdown table.

  pairs.py --fill N, --ask STRATEGY, --read-one STRATEGY     used by itself, in an environment with the server's settings
"""

import argparse, datetime, json, os, pathlib, random, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import common  # noqa: E402

LOCAL_POSTGRES = "postgres://postgres@127.0.0.1:5432/postgres"
DATABASE = "autotune_bench_pairs"
NAME = "pairs"
EACH = 10  # answers of a prompt
CHUNK = 5_000
STRATEGIES = ("best_worst", "all", "random")
CEILING_S, CEILING_MIB = 10, 300


def fill(rows):
    """A task of the operating organization with `rows` rewarded completions."""
    import django

    django.setup()
    from django.db import connection, transaction
    from django.utils import timezone

    from autotune.access.models import Organization, User
    from autotune.core import bulk, ids
    from autotune.core.crypto import encryption
    from autotune.core.crypto.fields import encrypted
    from scores.models import Reward
    from tasks.models import Completion, Task, TaskVersion

    organization, user = Organization.objects.get(operating=True), User.objects.first()
    task = Task.objects.create(organization=organization, created_by=user, name=NAME)
    content = {"systemPrompt": None, "promptTemplate": "{{prompt}}", "responseSchema": None, "model": None}
    task.version = TaskVersion.objects.create(task=task, organization=organization, digest="0" * 64, content=content)
    task.save()
    prompt, response = encrypted(Completion, "prompt"), encrypted(Completion, "response")
    cipher, rnd = encryption.cipher_for(organization.pk), random.Random(1)
    pool = [common.text(1100, rnd) for _ in range(64)]
    prompts = [rnd.randbytes(16) for _ in range(rows // EACH)]
    answers = [n % 9 + 1 for n in range(EACH)]  # the last one says what the first one said
    for start in range(0, rows, CHUNK):
        now, numbers = timezone.now(), range(start, min(start + CHUNK, rows))
        completions = [
            (ids.new(), n % len(prompts), answers[n // len(prompts)]) for n in numbers
        ]  # answers come over time
        values = [rnd.randrange(101) / 100 for _ in completions]
        with transaction.atomic():
            bulk.insert(
                Completion,
                ("id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "prompt_digest",
                 "answer_digest", "prompt", "response", "form", "priority", "source", "created_at"),
                ((c, organization.pk, task.pk, task.version.pk, user.pk, f"model-{c.int % 3}", prompts[p],
                  bytes([answer]) + prompts[p][1:],
                  prompt.envelope(cipher, c, f"{p} {pool[p % 64][:500]}"),
                  response.envelope(cipher, c, f"{p} {answer} {pool[(p + answer) % 64]}"), "prompt", 1, "api", now)
                 for c, p, answer in completions),
            )  # fmt: skip
            bulk.insert(
                Reward,
                ("completion_id", "organization_id", "task_id", "value", "confidence", "aggregation", "used", "failed",
                 "error_code", "scored_at"),
                ((c, organization.pk, task.pk, value, 0.9, "mean", 1, 0, "", now)
                 for (c, _, _), value in zip(completions, values)),
            )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("vacuum (analyze) tasks_completion, scores_reward")
    print(task.public_id)


def principal_of(task):
    from autotune.access.models import Role
    from autotune.access.principal import Principal

    return Principal(task.organization, Role.objects.get(organization=None, name="admin"), task.created_by)


def measured(work):
    """What `work` returns, with its seconds, the CPU seconds of this process and of its database session, the peak."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        backend = cursor.fetchone()[0]
    before, cpu, started = common.stat(backend)[1], time.process_time(), time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    session = None
    if os.path.exists(f"/proc/{backend}"):  # a layout gives its connection back, and the pool may give another
        session = common.stat(backend)[1] - before
    print(
        json.dumps({**result, "seconds": seconds, "cpu": time.process_time() - cpu, "session": session, "peak": peak()})
    )


def peak():
    """MiB of this process at its most."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM"))


def ask(strategy):
    """A sample of 1,000, as POST /preference-pairs makes it."""
    import django

    django.setup()
    from exports.pairs import sample
    from exports.pairs.requests import PairsRequest
    from scores.intake.requests import TaskId
    from tasks.models import Task

    task = Task.objects.get(name=NAME)
    request = PairsRequest(task_id=TaskId(task.pk), min_score_delta=0.1, sample_size=1_000, strategy=strategy, seed=7)

    def work():
        sample_pairs = sample.answer(principal_of(task), request)
        return {"pairs": len(sample_pairs.pairs), "available": sample_pairs.available}

    measured(work)


def read(strategy):
    """The whole layout, without a format."""
    import django

    django.setup()
    from exports import layouts
    from exports.requests import ExportQuery
    from scores.results import filters
    from tasks.models import Task

    task = Task.objects.get(name=NAME)
    query = ExportQuery(layout="preferences", strategy=strategy, min_score_delta=0.1, task_id=filters.TaskRef(task.pk))
    layout = layouts.layout(query, filters.check(query, principal_of(task)))

    def work():
        rows = size = 0
        for batch in layout.batches():
            rows += batch.rows
            size += sum(map(len, (*batch.values[0], *batch.values[1], *batch.values[2])))
        return {"pairs": rows, "available": rows, "size": size}

    measured(work)


def main(a):
    from autotune.site.local import databases, launch
    from autotune.site.local.ports import free_port

    url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
    if not a.keep:
        databases.create_afresh(url)
    base = {**os.environ, "DATABASE_URL": url, "REDIS_URL": "", "LOG_LEVEL": "WARNING"}
    env = launch.environment(base, port=free_port(range(8300, 8400)), data=ROOT / "var/bench", grader_ports=[])
    env["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
    launch.bootstrap(env, "Bench", "admin@bench.example")

    def program(*args):
        done = subprocess.run([sys.executable, __file__, *args], env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        return done.stdout.strip().splitlines()[-1]

    if not a.keep:
        program("--fill", str(a.rows))
    out = [("what", "strategy", "pairs", "of", "seconds", "CPU s", "database CPU s", "peak RSS MiB")]
    kept = True
    for what, strategies in (("sample of 1,000", STRATEGIES), ("whole layout", a.read)):
        for strategy in strategies:
            figures = json.loads(program("--ask" if what != "whole layout" else "--read-one", strategy))
            session = "" if figures["session"] is None or what == "whole layout" else f"{figures['session']:.1f}"
            out.append((what, strategy, f"{figures['pairs']:,}", f"{figures['available']:,}", f"{figures['seconds']:.1f}",
                        f"{figures['cpu']:.1f}", session, f"{figures['peak']:.0f}"))  # fmt: skip
            is_timed = what != "whole layout" or strategy == "best_worst"  # `all` makes millions
            kept &= figures["peak"] < CEILING_MIB and (not is_timed or figures["seconds"] < CEILING_S)
    print("\n".join("| " + " | ".join(row) + " |" for row in (out[0], ("---",) * len(out[0]), *out[1:])))
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    print(
        f"{a.rows:,} scores of {a.rows // EACH:,} prompts; {stamp}, cores {os.cpu_count()}, load {os.getloadavg()[0]:.1f}"
    )
    print(f"a sample, and best_worst whole, in {CEILING_S} s, {CEILING_MIB} MiB: {'kept' if kept else 'MISSED'}")
    return not kept


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--keep", action="store_true", help="take the rows of the last time")
    p.add_argument("--read", nargs="*", default=["best_worst"], choices=STRATEGIES, help="layouts to read whole")
    p.add_argument("--fill", type=int, help=argparse.SUPPRESS)
    p.add_argument("--ask", help=argparse.SUPPRESS)
    p.add_argument("--read-one", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.fill:
        raise SystemExit(fill(args.fill))
    if args.ask:
        raise SystemExit(ask(args.ask))
    raise SystemExit(read(args.read_one) if args.read_one else main(args))
