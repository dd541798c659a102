#!/usr/bin/env python3
"""Figures and lists over a long history: `make bench-history`.

Fills a database of its own (autotune_bench_history, created again unless --keep) with 1,500,000 scores of 40 tasks, 8
models and 60 days by a few statements. Then requests figures as the API and the pages do, in this process: first from
the rows (as if no task's counters were built), then from the counters. Finally it saves scores, group by group, into the
empty and into the full tables, with and without the triggers that count them. Prints markdown tables.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(HERE)]
LOCAL = "postgres://postgres@127.0.0.1:5432/postgres"
DATABASE = "autotune_bench_history"
AT_MOST_MS = 200
TASKS, MODELS, DAYS = 40, 8, 60
SAVED, GROUP = 2_048, 64  # scores of one measurement of saving, and of one group

FILL = (
    # The first tasks and the first models have most of the scores; their times are spread over the last DAYS days.
    """create temporary table made as
    select n, (power(random(), 2) * {tasks})::int % {tasks} as task, (power(random(), 2) * {models})::int % {models} as model,
        clock_timestamp() - random() * interval '{days} days' as at,
        case n % 5 when 0 then round(random()) when 1 then round(random() * 100) / 100 else random() end as value,
        lpad(to_hex(n), 12, '0') as tail
    from generate_series(1, {scores}) n""",
    """alter table made add time text, add completion uuid, add run uuid, add score uuid""",
    """update made set time = lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0')""",
    """update made set completion = (time || '7000a000' || tail)::uuid, run = (time || '7000b000' || tail)::uuid,
        score = (time || '7000c000' || tail)::uuid""",
    """create temporary table pairs as select made.*, t.id as task_id, t.organization_id, t.version_id, t.created_by_id,
        m.grader_id, g.version_id as grader_version_id
    from made join tasks_task t on t.name = 'Task ' || made.task join tasks_panelmember m on m.task_version_id = t.version_id
    join graders_grader g on g.id = m.grader_id""",
    """insert into tasks_completion (id, organization_id, task_id, task_version_id, created_by_id, model_id, prompt_digest,
        priority, source, created_at)
    select completion, organization_id, task_id, version_id, created_by_id, 'model-' || model,
        decode(md5((n / 8)::text), 'hex'), 1, 'api', at from pairs order by completion""",
    """insert into scores_workflowrun (id, organization_id, completion_id, task_id, grader_id, panel_size, status, priority,
        attempt, failures, deadline_at, error_code, error_repeats, waits_for, created_at, completed_at)
    select run, organization_id, completion, task_id, grader_id, 1, 'completed', 1, 1, 0, at, '', 0, '', at, at
    from pairs order by run""",
    """insert into scores_score (id, organization_id, run_id, completion_id, task_id, grader_id, grader_version_id, purpose,
        value, confidence, raw_value, created_at)
    select score, organization_id, run, completion, task_id, grader_id, grader_version_id, 'score', value, 0.9, value, at
    from pairs order by score""",
    """insert into scores_reward (completion_id, organization_id, task_id, value, confidence, aggregation, used, failed,
        error_code, scored_at)
    select completion, organization_id, task_id, value, 0.9, 'mean', 1, 0, '', at from pairs order by completion""",
)  # fmt: skip


def prepare(a):
    """Set up the environment and a migrated database."""
    import psycopg
    from psycopg import sql

    os.environ["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    os.environ.setdefault("SECRET_KEY", "x" * 60)
    os.environ.setdefault("AUTOTUNE_ENCRYPTION_KEYS", "k1:" + "ab" * 32)
    os.environ["AUTOTUNE_DATA_DIR"] = tempfile.mkdtemp(prefix="autotune-history-")
    os.environ.setdefault("REDIS_URL", "redis://127.0.0.1:6379/8")
    from autotune.site.local import databases

    base = os.environ.get("DATABASE_URL") or LOCAL
    os.environ["DATABASE_URL"] = databases.sibling(base, DATABASE)
    if not a.keep:
        name = sql.Identifier(DATABASE)
        with psycopg.connect(databases.sibling(base, databases.MAINTENANCE), autocommit=True) as connection:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(name))
            connection.execute(sql.SQL("create database {}").format(name))
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def world():
    """Create an organization with an administrator and TASKS tasks."""
    from autotune.access.models import Membership, Organization, Role, User
    from graders.models import Grader, GraderVersion
    from tasks.models import PanelMember, Task, TaskVersion

    organization = Organization.objects.create(name="Meridian Labs")
    owner = User.objects.create(email="ada@example.org", name="Ada Byron")
    role = Role.objects.get(organization=None, name="organization_admin")
    Membership.objects.create(organization=organization, user=owner, role=role)
    about = {"organization": organization, "created_by": owner}
    content = {"systemPrompt": None, "promptTemplate": "{{prompt}}", "responseSchema": None, "model": None}
    for number in range(TASKS):
        grader = Grader.objects.create(name=f"Grader {number}", endpoint="https://g.example", status="active", **about)
        grader.version = GraderVersion.objects.create(grader=grader, label="1")
        grader.save()
        task = Task.objects.create(name=f"Task {number}", **about)
        task.version = TaskVersion.objects.create(
            task=task, organization=organization, digest=f"{number:064}", content=content
        )
        task.save()
        PanelMember.objects.create(task_version=task.version, grader=grader, position=0)


def fill(scores):
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        for statement in FILL:
            cursor.execute(statement.format(scores=scores, tasks=TASKS, models=MODELS, days=DAYS))
        cursor.execute("drop table pairs, made")


def analyze():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze")


def clients():
    """(the administrator's browser, a client of the API, ids by name)"""
    from django.conf import settings
    from django.test import Client

    from autotune.access.keys import tokens
    from autotune.access.models import Membership
    from scores.models import Score
    from tasks.models import Task

    settings.ALLOWED_HOSTS = ["testserver"]
    settings.KEY_RATE_PER_MINUTE = 0
    membership = Membership.objects.select_related("user", "organization", "role").get()
    person = Client()
    person.force_login(membership.user)
    about = {"organization": membership.organization, "user": membership.user, "role": membership.role}
    _, text = tokens.issue(name="bench", **about)
    api = Client(HTTP_AUTHORIZATION=f"Bearer {text}")
    task = Task.objects.get(name="Task 0")
    day = Score.objects.order_by("pk").first().created_at.date()
    return person, api, {"task": task.public_id, "day": day, "grader": task.version.members.get().grader.public_id}


PAGES = (
    "/", "/tasks", "/tasks/{task}", "/scores", "/scores?taskId={task}", "/scores?modelId=model-7", "/completions",
    "/workflow-runs",
)  # fmt: skip
ROUTES = (
    "/scores/summary", "/scores/summary?taskId={task}", "/scores/summary?modelId=model-7",
    "/scores/summary?startDate={day}", "/tasks/{task}", "/tasks", "/scores", "/scores?taskId={task}",
    "/scores?modelId=model-7", "/scores?modelId=never", "/scores?taskId={task}&sort=-value", "/completions",
    "/workflow-runs",
)  # fmt: skip


def requests_of(clients_and_ids):
    person, api, ids = clients_and_ids
    for path in PAGES:
        yield f"page {path}", lambda path=path: person.get(path.format(**ids))
    for path in ROUTES:
        yield path, lambda path=path: api.get("/api/v1" + path.format(**ids))


def measure(request, rounds):
    """Median ms of the answers."""
    durations_ms = []
    for _ in range(rounds):
        started = time.perf_counter()
        response = request()
        durations_ms.append((time.perf_counter() - started) * 1000)
        assert response.status_code == 200, response.content[:500]
    return statistics.median(durations_ms)


def figures(clients_and_ids, rounds):
    """Median ms by request: from rows, and from counters."""
    from scores.models import UncountedTask
    from tasks.models import Task

    UncountedTask.objects.bulk_create(UncountedTask(task_id=pk) for pk in Task.objects.values_list("pk", flat=True))
    from_rows = {name: measure(request, 1) for name, request in requests_of(clients_and_ids)}
    UncountedTask.objects.all().delete()
    for _, request in requests_of(clients_and_ids):
        request()
    return from_rows, {name: measure(request, rounds) for name, request in requests_of(clients_and_ids)}


def save_cpu():
    """CPU seconds of this process and of its database session for 1,000 saved scores."""
    import common
    from django.db import connection

    from graders.verdicts import Verdict
    from graders.models import NO_VERSION
    from scores.engine import claims, recording
    from scores.engine.materials import TaskFactsCache
    from scores.engine.call_results import JudgedRun, CallResults
    from tasks.models import Task

    task = Task.objects.select_related("version").get(name="Task 0")
    grader = task.version.members.select_related("grader").get().grader
    with connection.cursor() as cursor:
        cursor.execute(SUBMIT, {"task": task.pk, "number": SAVED})
        cursor.execute(SUBMIT_RUNS, {"grader": grader.pk})
        cursor.execute("select pg_backend_pid()")
        backend = cursor.fetchone()[0]
    facts, spent, session = TaskFactsCache(), 0.0, 0.0
    for number in range(SAVED // GROUP):
        runs = claims.take(grader.pk, limit=GROUP)
        judged = [
            JudgedRun(run, Verdict((number * 64 + n) / SAVED, 0.9), task.version_id, NO_VERSION, 20.0)
            for n, run in enumerate(runs)
        ]
        before, started = common.stat(backend)[1], time.process_time()
        recording.save(grader.pk, grader.version_id, CallResults(judged=judged), facts)
        spent, session = spent + time.process_time() - started, session + common.stat(backend)[1] - before
    return (spent + session) * 1000 / SAVED


SUBMIT = """
create temporary table if not exists submitted (id uuid, organization_id uuid, task_id uuid);
truncate submitted;
insert into submitted select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7000a000'
    || lpad(to_hex((random() * 281474976710655)::bigint), 12, '0'))::uuid, organization_id, id
from tasks_task, generate_series(1, %(number)s) where id = %(task)s;
insert into tasks_completion (id, organization_id, task_id, task_version_id, created_by_id, model_id, priority, source,
    created_at)
select s.id, s.organization_id, t.id, t.version_id, t.created_by_id, 'model-0', 1, 'api', clock_timestamp()
from submitted s join tasks_task t on t.id = s.task_id
"""
SUBMIT_RUNS = """
insert into scores_workflowrun (id, organization_id, completion_id, task_id, grader_id, panel_size, status, priority,
    attempt, failures, deadline_at, error_code, error_repeats, waits_for, created_at)
select overlay(id::text placing 'b' from 20 for 1)::uuid, organization_id, id, task_id, %(grader)s, 1, 'pending', 1, 0, 0,
    clock_timestamp() + interval '1 day', '', 0, '', clock_timestamp() from submitted
"""


def saving(rounds):
    """Median CPU seconds for 1,000 saved scores: (counted, not counted), in turns."""
    from django.db import connection

    from scores.counters import triggers

    counted, bare = [], []
    save_cpu()
    for _ in range(rounds):
        counted.append(save_cpu())
        triggers.drop(connection)
        bare.append(save_cpu())
        triggers.install(connection)
    return statistics.median(counted), statistics.median(bare)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scores", type=int, default=1_500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="use the database of the last run, with its scores")
    parser.add_argument("--only", default="", help="run one part: figures or saving")
    a = parser.parse_args()
    prepare(a)
    empty = None
    if not a.keep:
        world()
        empty = saving(a.rounds)
        started = time.perf_counter()
        fill(a.scores)
        print(f"filled with {a.scores:,} scores in {time.perf_counter() - started:.0f} s", flush=True)
    from scores.counters import folding

    started, folded = time.perf_counter(), 0
    while count := folding.fold():
        folded += count
    print(f"folded {folded:,} tallies in {time.perf_counter() - started:.0f} s\n", flush=True)
    analyze()
    late = []
    if a.only != "saving":
        from_rows, from_counters = figures(clients(), a.rounds)
        print("| what | ms from rows | ms |\n| --- | ---: | ---: |")
        for name, ms in from_counters.items():
            late += [name] if ms > AT_MOST_MS else []
            print(f"| {name} | {from_rows[name]:.0f} | {ms:.0f}{' MISSED' if ms > AT_MOST_MS else ''} |", flush=True)
    if a.only != "figures":
        full = saving(a.rounds)
        print("\n| saving 1,000 scores | CPU s, counted | CPU s, not counted |\n| --- | ---: | ---: |")
        for name, pair in (("empty tables", empty), ("full tables", full)):
            if pair:
                print(f"| {name} | {pair[0]:.4f} | {pair[1]:.4f} |")
    print(f"\nAt most {AT_MOST_MS} ms: {'MISSED by ' + ', '.join(late) if late else 'kept'}")
    return bool(late)


if __name__ == "__main__":
    sys.exit(main())
