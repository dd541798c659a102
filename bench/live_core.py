#!/usr/bin/env python3
"""What an item of live rewards costs beside an item of a plain submission: `make bench-live-core`.

In one process, on a database of its own (autotune_bench_live_core, made afresh): `scores.intake.submission.submit` and
`scores.live.answering.submit` by turns, with requests of 1, 64 and 1,000 items of about 3 KB, and the latter again for
what it then finds: work that is unfinished, and work that is scored. No grader is called. Prints a markdown table of
medians.

  live_core.py --measure     used by itself, in an environment with the server's settings
"""

import argparse, datetime, os, pathlib, random, statistics, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import common  # noqa: E402

LOCAL_POSTGRES, LOCAL_REDIS = "postgres://postgres@127.0.0.1:5432/postgres", "redis://127.0.0.1:6379/8"
DATABASE = "autotune_bench_live_core"
SIZES = {1: 200, 64: 30, 1000: 6}  # items of a request -> rounds


def measure():
    """The table of one run."""
    import django

    django.setup()
    from django.utils import timezone

    from autotune.access.models import ApiKey, Organization, User
    from autotune.access.principal import Principal
    from autotune.core import bulk, ids
    from graders.models import Grader, GraderVersion
    from scores.intake import submission
    from scores.intake.requests import NewCompletion, TaskId
    from scores.live import answering
    from scores.live.requests import RewardItem
    from scores.models import Reward, Score, WorkflowRun
    from tasks.models import PanelMember, Task, TaskVersion

    organization, user, key = Organization.objects.get(operating=True), User.objects.first(), ApiKey.objects.first()
    about = {"organization": organization, "created_by": user}
    grader = Grader.objects.create(**about, name="bench", endpoint="https://grader.example.org", status="active")
    version = grader.version = GraderVersion.objects.create(grader=grader, label="1")
    grader.save()
    task = Task.objects.create(**about, name="bench")
    content = {"systemPrompt": None, "promptTemplate": "{{prompt}}", "responseSchema": None, "model": None}
    task.version = TaskVersion.objects.create(task=task, organization=organization, digest="0" * 64, content=content)
    task.save()
    PanelMember.objects.create(task_version=task.version, grader=grader, position=0)
    caller, named = Principal(organization, key.role, user, key), TaskId(task.pk)
    rnd, number = random.Random(1), 0

    def texts(count):
        nonlocal number
        number += count
        return [(common.text(1000, rnd), f"{number - n} {common.text(2000, rnd)}") for n in range(count)]

    def timed(into, name, work):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        into.setdefault(name, []).append((time.perf_counter() - wall, time.process_time() - cpu))
        return result

    def score(completions):
        runs = dict(WorkflowRun.objects.filter(completion__in=completions).values_list("completion_id", "pk"))
        now, common_values = timezone.now(), (organization.pk, task.pk)
        WorkflowRun.objects.filter(pk__in=runs.values()).update(status="completed", completed_at=now)
        bulk.insert(
            Score,
            ("id", "run_id", "completion_id", "organization_id", "task_id", "grader_id", "grader_version_id", "purpose",
             "value", "confidence", "raw_value", "created_at"),
            ((ids.new(), runs[c], c, *common_values, grader.pk, version.pk, "score", 0.5, 0.9, 0.5, now)
             for c in completions),
        )  # fmt: skip
        bulk.insert(
            Reward,
            ("completion_id", "organization_id", "task_id", "value", "confidence", "aggregation", "used", "failed",
             "error_code", "scored_at"),
            ((c, *common_values, 0.5, 0.9, "mean", 1, 0, "", now) for c in completions),
        )  # fmt: skip

    def round_of(size, into):
        plain = {
            n: NewCompletion(task_id=named, model_id="m", prompt=p, response=r) for n, (p, r) in enumerate(texts(size))
        }
        items = [RewardItem(prompt=p, response=r) for p, r in texts(size)]

        def live():
            return answering.submit(caller, task.pk, items)

        works = [("submission", lambda: submission.submit(caller, plain)), ("live, new", live)]
        rnd.shuffle(works)
        results = {name: timed(into, name, work) for name, work in works}
        joined = timed(into, "live, unfinished", live)
        assert joined == results["live, new"]
        score(joined.completions)
        assert not timed(into, "live, scored", live).unfinished
        answers = timed(into, "live, answers", lambda: answering.answers(joined.completions))
        assert [answer.value for answer in answers] == [0.5] * size

    for size in SIZES:
        round_of(size, {})  # data keys opened, statements prepared
    rows = [("items", "what", "ms an item", "CPU ms an item", "ms a request")]
    for size, rounds in SIZES.items():
        into = {}
        for _ in range(rounds):
            round_of(size, into)
        for name in ("submission", "live, new", "live, unfinished", "live, scored", "live, answers"):
            wall, cpu = (statistics.median(sample[index] for sample in into[name]) * 1e3 for index in (0, 1))
            rows.append((f"{size:,}", name, f"{wall / size:.3f}", f"{cpu / size:.3f}", f"{wall:.1f}"))
    print(
        "\n".join(
            "| " + " | ".join(row) + " |" for row in (rows[0], ("---:", "---", "---:", "---:", "---:"), *rows[1:])
        )
    )
    print(datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), f"cores {os.cpu_count()}")


def run():
    from autotune.site.local import databases, launch
    from autotune.site.local.ports import free_port

    url = databases.sibling(os.environ.get("DATABASE_URL") or LOCAL_POSTGRES, DATABASE)
    databases.create_afresh(url)
    base = {**os.environ, "DATABASE_URL": url, "LOG_LEVEL": "WARNING"}
    base["REDIS_URL"] = os.environ.get("REDIS_URL") or LOCAL_REDIS
    env = launch.environment(base, port=free_port(range(8300, 8400)), data=ROOT / "var/bench", grader_ports=[])
    env["DJANGO_SETTINGS_MODULE"] = "autotune.settings"
    launch.manage(env, "migrate", "--noinput", "--verbosity", "0")
    launch.bootstrap(env, "Bench", "admin@bench.example")
    return subprocess.run([sys.executable, str(HERE / "live_core.py"), "--measure"], env=env, check=False).returncode


if __name__ == "__main__":
    p = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    p.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    raise SystemExit(measure() if p.parse_args().measure else run())
