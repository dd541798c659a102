#!/usr/bin/env python3
"""Comparator: what a team writes first with Django and Celery. One task per completion:
get the row, requests.post to the grader, save the score with the ORM.

  naive_celery.py -n 2000           starts its own prefork worker, enqueues, waits, reports
"""

import argparse, os, subprocess, sys, time, urllib.parse
import common as c
import django
from django.conf import settings

address = urllib.parse.urlsplit(c.DB)
settings.configure(
    INSTALLED_APPS=[],
    USE_TZ=True,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "CONN_MAX_AGE": None,
            "USER": address.username or "",
            "PASSWORD": address.password or "",
            "HOST": address.hostname or "",
            "PORT": address.port or "",
            "NAME": address.path[1:],
        }
    },
)
django.setup()
from django.db import models, connection  # noqa: E402
from django.utils import timezone  # noqa: E402
from celery import Celery  # noqa: E402
import requests  # noqa: E402

app = Celery("naive_celery", broker=c.REDIS)
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=4)


class Completion(models.Model):
    public_id = models.UUIDField(unique=True)
    prompt = models.TextField()
    response = models.TextField()
    submitted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label, db_table, managed = "bench", "bench_completion", False


class Run(models.Model):
    completion = models.ForeignKey(Completion, models.CASCADE)
    grader_id = models.IntegerField(default=1)
    status = models.SmallIntegerField(default=0)
    attempts = models.SmallIntegerField(default=0)
    available_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label, db_table, managed = "bench", "bench_run", False


class Score(models.Model):
    run = models.OneToOneField(Run, models.CASCADE, primary_key=True)
    value = models.FloatField()
    scored_at = models.DateTimeField(default=timezone.now)

    class Meta:
        app_label, db_table, managed = "bench", "bench_score", False


@app.task(name="score", bind=True, max_retries=3)
def score(self, run_id):
    run = Run.objects.select_related("completion").get(pk=run_id)
    x = {
        "id": str(run.completion.public_id),
        "taskId": "task_bench",
        "prompt": run.completion.prompt,
        "response": run.completion.response,
        "metadata": {},
    }
    path, body, headers, rid = c.request([x], batch=False)
    try:
        r = requests.post(c.GRADER + path, data=body, headers=headers, timeout=30)
        r.raise_for_status()
    except requests.RequestException as e:
        raise self.retry(exc=e, countdown=2**self.request.retries)
    (value,) = c.values(rid, [x], r.content, r.headers)
    Score.objects.create(run=run, value=value)
    run.status = 2
    run.save()


def submit(data, rate):
    """Batches of 100 as the API would take them: rows, then one delay() for each."""
    t0 = time.perf_counter()
    for i in range(0, len(data), 100):
        if rate:
            time.sleep(max(0, t0 + i / rate - time.perf_counter()))
        now = timezone.now()
        rows = Completion.objects.bulk_create(
            [
                Completion(public_id=x["id"], prompt=x["prompt"], response=x["response"], submitted_at=now)
                for x in data[i : i + 100]
            ]
        )
        for r in Run.objects.bulk_create([Run(completion=x) for x in rows]):
            score.delay(r.pk)


def latencies():
    with connection.cursor() as cur:
        cur.execute("""select extract(epoch from s.scored_at - x.submitted_at)::float8 from bench_score s
            join bench_run r on r.id = s.run_id join bench_completion x on x.id = r.completion_id""")
        return [r[0] for r in cur]


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("-n", type=int, default=2000)
    p.add_argument("-c", "--concurrency", type=int, default=8)
    p.add_argument("--rate", type=float, default=0, help="completions/s; 0 sends all at once")
    a = p.parse_args()
    data = c.completions(a.n)
    app.control.purge()
    w = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "naive_celery:app",
            "worker",
            "-P",
            "prefork",
            "-c",
            str(a.concurrency),
            "-l",
            "ERROR",
            "--without-gossip",
            "--without-mingle",
        ],
        cwd=os.path.dirname(os.path.abspath(__file__)),
    )
    try:
        while not app.control.ping(timeout=1):
            pass
        meter = c.Meter(
            {"producer": [os.getpid()], "worker": [w.pid], "postgres": [c.postmaster()], "redis": [c.redis_server()]}
        )
        submit(data, a.rate)
        while Score.objects.count() < a.n:
            time.sleep(0.1)
        used = meter.stop(a.n)
        c.line(f"naive celery prefork c={a.concurrency} rate={a.rate:g}", a.n, meter.seconds, latencies(), used)
    finally:
        w.terminate()
        w.wait()
