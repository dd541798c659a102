"""An organization at work, written past the API: what the pages show of it, and how fast (bench/pages.py, the tests of
pages, the pictures of tools/screenshots.py). Times lie in the last 30 days; ids are made of them, as in service."""

import os
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

DAYS = 30
CHUNK = 4_000
MODELS = ("kestrel-7b-sft", "kestrel-7b-step-400", "kestrel-7b-step-1200", "osprey-32b")
CODES = ("timeout", "bad_signature", "grader_unavailable", "rate_limited", "grader_error", "out_of_range")
TASKS = (
    ("Commit messages", "Write a commit message for this diff.", "Compiler review"),
    ("Contract clauses", "Rewrite the clause so that it survives a change of control.", "Clause review"),
    ("Discharge letters", "Summarise the letter for the patient.", "Ward round"),
    ("Unit tests", "Write tests for this function.", "Test runner"),
)
GRADERS = {
    "Compiler review": "Compiles the patch and asks whether the message says why.",
    "Clause review": "A firm's partners, distilled.",
    "Ward round": "Clinical safety before style.",
    "Test runner": "Runs the tests against mutants.",
}
ANSWER = """{lead}

```python
def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
```

It copies the list, so the caller's order is kept. An empty list raises `IndexError`."""
LEADS = (
    "Sort once, then take the middle.", "The two middle values are averaged.", "A copy keeps the caller's list as it was.",
    "Handle the even case on its own.",
)  # fmt: skip


def id_at(moment):
    """An id as it would have been made then (UUIDv7)."""
    random_bits = int.from_bytes(os.urandom(10), "big")
    number = int(moment.timestamp() * 1000) << 80 | 7 << 76 | (random_bits >> 16 & 0xFFF) << 64
    return UUID(int=number | 2 << 62 | random_bits & (1 << 62) - 1)


def fill(organization, owner, scores=6_000, *, seed=1, names=lambda text: text):
    """Tasks, graders, completions, runs, scores, rewards, counters and reviews of an organization.

    scores   how many there are in all; beside them 3 % of runs that failed, sleep, wait or are queued
    names    changes every name and text, for hostile ones
    returns  {"tasks": […], "graders": […]}
    """
    rnd = random.Random(seed)
    graders = {name: _grader(organization, owner, name, names) for name in GRADERS}
    tasks = [_task(organization, owner, entry, graders, names) for entry in TASKS]
    for number, task in enumerate(tasks):
        _scores(task, graders[TASKS[number][2]], owner, scores // len(tasks), rnd, names, number)
    for number, grader in enumerate(graders.values()):
        _counters(grader, scores // len(graders), rnd, number)
    return {"tasks": tasks, "graders": list(graders.values())}


def _grader(organization, owner, name, names):
    from graders.models import Grader, GraderCheck, GraderSecret, GraderStatusChange, GraderVersion

    now = datetime.now(UTC)
    worn = name == "Ward round"
    grader = Grader.objects.create(
        organization=organization, created_by=owner, name=names(name), description=names(GRADERS[name]),
        endpoint=f"https://{name.lower().replace(' ', '-')}.example/grade", status="degraded" if worn else "active",
        max_batch_size=16, supports_dimensions=True, supports_explanations=True, avg_latency_ms=400,
        domains=["code" if "e" in name[:3] else "language"], verified_at=now - timedelta(days=20), checked_at=now,
        visibility="listed" if name == "Test runner" else "private", health="healthy",
    )  # fmt: skip
    GraderSecret.objects.create(grader=grader, organization=organization, secret="atgs_" + "0" * 48, confirmed=True)
    for days, label in ((28, "2026.10"), (9, "2026.11")):
        grader.version = GraderVersion.objects.create(
            grader=grader, label=label, first_seen_at=now - timedelta(days=days)
        )
    grader.save()
    for look in range(24):
        failed = look in ((9, 10, 17, 20) if worn else (7,))
        GraderCheck.objects.create(
            grader=grader, name="health", passed=not failed, latency_ms=None if failed else 30 + look * 7 % 11,
            detail="timeout: no answer within 2 s." if failed else "The grader reports that it is healthy.",
            at=now - timedelta(minutes=5 * (24 - look)),
        )  # fmt: skip
    GraderStatusChange.objects.create(grader=grader, previous="inactive", current="active", at=now - timedelta(days=20))
    return grader


def _task(organization, owner, entry, graders, names):
    import hashlib

    from tasks.models import PanelMember, Task, TaskVersion

    name, prompt, first = entry
    task = Task.objects.create(organization=organization, created_by=owner, name=names(name), description=names(prompt))
    for template in ("{{prompt}}", "{{prompt}}\n\nAnswer in at most {{words}} words."):
        content = {"systemPrompt": None, "promptTemplate": template, "responseSchema": None, "model": None}
        version = TaskVersion.objects.create(
            task=task, organization=organization, created_by=owner, content=content,
            digest=hashlib.sha256((name + template).encode()).hexdigest(),
        )  # fmt: skip
        PanelMember.objects.create(task_version=version, grader=graders[first], position=0, weight=1.0)
    task.version = version
    task.save()
    return task


def _scores(task, grader, owner, count, rnd, names, number):
    from django.db import transaction

    from autotune.core import bulk
    from autotune.core.crypto import encryption
    from autotune.core.crypto.fields import encrypted
    from scores.models import AttemptEvidence, Review, Reward, Score, WorkflowRun
    from tasks.models import Completion

    prompt, response = encrypted(Completion, "prompt"), encrypted(Completion, "response")
    cipher = encryption.cipher_for(task.organization_id)
    o, t, g, v = task.organization_id, task.pk, grader.pk, grader.version_id
    now = datetime.now(UTC)
    odd = max(8, count * 3 // 100)
    for start in range(0, count + odd, CHUNK):
        rows = []
        for n in range(start, min(start + CHUNK, count + odd)):
            created_at = now - timedelta(seconds=5) - _age(n, count, odd)
            model = (n + number) % len(MODELS)  # so that each hour has some of every model
            value = min(1.0, max(0.0, rnd.gauss(0.45 + 0.09 * model + 0.1 * n / (count + odd), 0.17)))
            rows.append(
                (n, created_at, MODELS[model], round(value, 3), id_at(created_at), id_at(created_at), id_at(created_at))
            )
        with transaction.atomic():
            bulk.insert(
                Completion,
                ("id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "prompt",
                 "response", "form", "external_id", "priority", "source", "created_at"),
                ((c, o, t, task.version_id, owner.pk, names(model), prompt.envelope(cipher, c, names(f"Case {n // 8}. {task.description}")),
                  response.envelope(cipher, c, names(ANSWER.format(lead=LEADS[n % len(LEADS)]))), "prompt", f"case-{n}", 1, "api", created_at)
                 for n, created_at, model, _, c, _, _ in rows),
            )  # fmt: skip
            bulk.insert(
                WorkflowRun,
                ("id", "organization_id", "completion_id", "task_id", "grader_id", "panel_size", "status", "priority",
                 "attempt", "failures", "wake_at", "deadline_at", "error_code", "error_message", "error_repeats", "waits_for",
                 "created_at", "started_at", "completed_at"),
                (_run(row, n < count, (o, t, g)) for n, row in ((row[0], row) for row in rows)),
            )  # fmt: skip
            scored = [row for row in rows if row[0] < count]
            bulk.insert(
                Score,
                ("id", "organization_id", "run_id", "completion_id", "task_id", "grader_id", "grader_version_id",
                 "purpose", "value", "confidence", "raw_value", "created_at"),
                ((s, o, r, c, t, g, v, "score", value, 0.9, value, created_at + timedelta(seconds=2))
                 for _, created_at, _, value, c, r, s in scored),
            )  # fmt: skip
            bulk.insert(
                Reward,
                ("completion_id", "organization_id", "task_id", "value", "confidence", "aggregation", "used", "failed",
                 "error_code", "scored_at"),
                ((c, o, t, value, 0.9, "mean", 1, 0, "", created_at) for _, created_at, _, value, c, _, _ in scored),
            )  # fmt: skip
            failed = [row for row in rows if row[0] >= count and _state(row[0]) == "failed"]
            bulk.insert(
                Reward,
                ("completion_id", "organization_id", "task_id", "value", "confidence", "aggregation", "used", "failed",
                 "error_code", "scored_at"),
                ((c, o, t, None, None, "mean", 0, 1, CODES[n % len(CODES)], created_at) for n, created_at, _, _, c, _, _ in failed),
            )  # fmt: skip
    AttemptEvidence.objects.bulk_create(
        AttemptEvidence(
            organization_id=o, run=run, grader=grader, attempt=run.attempt, code=run.error_code,
            content={
                "message": "The grader, or a proxy in front of it, answered 503.", "cause": run.error_code, "items": 8,
                "url": "https://grader.example/score/batch", "requestId": "0f17d6cb6a667ff8354a3b1225e56e1d",
                "durationMs": 26.4, "status": 503, "headers": ["Content-Type", "Server", "X-Request-Id"],
                "answer": '{"completionId": "comp_01", "error": "No memory left: retry later."}',
            },
        )
        for run in WorkflowRun.objects.filter(task=task, status="failed").only("pk", "attempt", "error_code")
    )  # fmt: skip
    waiting = WorkflowRun.objects.filter(task=task, status="waiting").select_related("completion")
    for number, run in enumerate(waiting[:40]):
        Review.objects.create(
            organization_id=o, run=run, completion=run.completion, task=task, grader=grader, value=0.4, confidence=0.5,
            grader_version_id=v, reasoning=names("Half of it is right; the units are not."), expires_at=run.wake_at,
            blind=number % 2 == 1,
        )  # fmt: skip


def _age(n, count, odd):
    """How long ago a completion came: the scored ones over DAYS, what is under way just now, failures more and more."""
    if n < count:
        return timedelta(days=DAYS) * (1 - n / count)
    since = (count + odd - n) / odd
    return timedelta(days=DAYS) * since**3 if _state(n) == "failed" else timedelta(hours=2) * since


def _state(n):
    return ("failed", "failed", "failed", "sleeping", "waiting", "pending")[n % 6]


def _run(row, scored, places):
    n, created_at, _, _, completion, run, _ = row
    o, t, g = places
    state = "completed" if scored else _state(n)
    done = created_at + timedelta(seconds=2) if state in ("completed", "failed") else None
    wake = (
        datetime.now(UTC) + timedelta(hours=2 if state == "sleeping" else 48)
        if state in ("sleeping", "waiting")
        else None
    )
    code = CODES[n % len(CODES)] if state == "failed" else "rate_limited" if state == "sleeping" else ""
    return (
        run, o, completion, t, g, 1, state, 1, 0 if state == "pending" else 1, 1 if code else 0, wake,
        created_at + timedelta(days=60), code, None, 0, "review" if state == "waiting" else "", created_at,
        None if state == "pending" else created_at + timedelta(seconds=1), done,
    )  # fmt: skip


def _counters(grader, count, rnd, number):
    """What the grader's stats are read from: a row of each hour."""
    from graders.models import GraderHour, GraderStatistic

    hours, now = DAYS * 24, datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    rows = []
    for hour in range(hours):
        scored = max(1, count // hours + rnd.randrange(3))
        values = [min(0.999, max(0.0, rnd.gauss(0.6, 0.17))) for _ in range(scored)]
        histogram = [0] * 10
        for value in values:
            histogram[int(value * 10)] += 1
        latencies = {}
        for _ in range(scored):
            bucket = str(min(334, max(0, int(rnd.gauss(165 + 4 * number, 12)))))
            latencies[bucket] = latencies.get(bucket, 0) + 1
        errors = {CODES[hour % len(CODES)]: 1} if hour % 9 == number else {}
        rows.append(
            dict(
                grader=grader,
                version_id=grader.version_id,
                start=now - timedelta(hours=hours - hour - 1),
                scored=scored,
                value_sum=sum(values),
                histogram=histogram,
                latency_sum_ms=400.0 * scored,
                latencies=latencies,
                errors=errors,
            )  # fmt: skip
        )
    for table in (GraderStatistic, GraderHour):
        table.objects.bulk_create((table(**row) for row in rows), batch_size=500)


def furnish(organization, owner):
    """What else an organization has: people, a role, keys, webhooks, exports, live rewards, a hold, an erasure."""
    from autotune.access.keys import tokens
    from autotune.access.models import Membership, Role, User
    from autotune.webhooks.models import Delivery, Event, Webhook
    from exports.models import Export
    from scores.models import Erasure, LegalHold, RewardEndpoint
    from tasks.models import Task

    now = datetime.now(UTC)
    task = Task.objects.filter(organization=organization).order_by("id").first()
    by = {"organization": organization, "created_by": owner}
    role = Role.objects.create(
        organization=organization, name="Auditor", description="Reads scores and the trail.",
        permissions=[{"resource": name, "actions": ["read"], "scope": "organization"} for name in ("scores", "workflow_runs", "audit")],
    )  # fmt: skip
    people = (("Ines Ferreira", "training_operator"), ("Tomasz Zielinski", "reviewer"), ("Mei Tanaka", "grader_owner"))
    for name, kind in people:
        person = User.objects.create(email=f"{name.split()[0].lower()}@{organization.pk.hex[:6]}.example", name=name)
        held = Role.objects.get(organization=None, name=kind)
        Membership.objects.create(organization=organization, user=person, role=held)
        tokens.issue(organization=organization, role=held, user=person, name=f"{name.split()[0]}'s notebook")
    Membership.objects.create(
        organization=organization, role=role, user=User.objects.create(email=f"audit@{organization.pk.hex[:6]}.example")
    )
    tokens.issue(organization=organization, role=Role.objects.get(organization=None, name="training_operator"), user=owner,
               name="Cluster A, nightly", expires_at=now + timedelta(days=60), networks=["10.0.0.0/8"])  # fmt: skip
    hook = Webhook.objects.create(
        **by, url="https://trainer.example/hooks/autotune", events=["grader.status_changed", "score.failed"],
        description="Pages the person on call", secret="whsec_" + "A" * 32,
    )  # fmt: skip
    for hours, status in enumerate(("delivered", "delivered", "parked", "delivered", "pending"), -4):
        event = Event.objects.create(
            organization=organization, kind="grader.status_changed", data={"graderId": "grader_x"}
        )
        Delivery.objects.create(
            webhook=hook, event=event, status=status, attempt=1, failures=int(status == "parked"),
            created_at=now + timedelta(hours=hours), ended_at=None if status == "pending" else now + timedelta(hours=hours),
        )  # fmt: skip
    query = {"taskId": task.public_id, "format": "jsonl", "layout": "preferences"}
    Export.objects.create(
        **by, query=query, status="running", expected=48_000, rows=31_000, file_key="A" * 44, attempt=1,
        created_at=now - timedelta(minutes=1), started_at=now - timedelta(seconds=58),
    )  # fmt: skip
    RewardEndpoint.objects.create(
        **by, task=task, protocol="openrlhf", model_id="live", unscored="neutral", neutral_value=0.5, deadline_ms=170_000,
        token_digest=os.urandom(32), answered=128_400, unscored_count=212, last_used_at=now,
    )  # fmt: skip
    LegalHold.objects.create(**by, reason="Case 12", model_id=MODELS[3])
    Erasure.objects.create(**by, model_id="kestrel-7b-base", status="completed", erased=1_204, completed_at=now)


def ids_of(organization):
    """{kind: public id} of one object of each kind of the organization, the newest."""
    from autotune.access.models import ApiKey, AuditEvent, Membership, Role
    from autotune.core import ids
    from autotune.webhooks.models import Delivery, Webhook
    from exports.models import Export
    from graders.models import Grader
    from scores.models import Erasure, LegalHold, Review, RewardEndpoint, Score, WorkflowRun
    from tasks.models import Completion, Task, TaskVersion

    rows = {
        "task": Task, "taskv": TaskVersion, "grader": Grader, "comp": Completion, "score": Score, "run": WorkflowRun,
        "rev": Review, "exp": Export, "rwd": RewardEndpoint, "whk": Webhook, "key": ApiKey, "role": Role,
        "ers": Erasure, "hold": LegalHold,
    }  # fmt: skip
    public_ids = {"org": ids.encode("org", organization.pk)}
    for kind, model in rows.items():
        newest = model.objects.filter(organization=organization).order_by("-id").values_list("pk", flat=True).first()
        if newest is not None:
            public_ids[kind] = ids.encode(kind, newest)
    scored = Score.objects.filter(organization=organization).order_by("-id").first()
    if scored:
        public_ids["comp"] = ids.encode("comp", scored.completion_id)
    if delivery := Delivery.objects.filter(webhook__organization=organization).order_by("-id").first():
        public_ids["dlv"] = ids.encode("dlv", delivery.pk)
    if event := AuditEvent.objects.filter(organization_id=organization.pk).order_by("-id").first():
        public_ids["aud"] = ids.encode("aud", event.pk)
    public_ids["member"] = Membership.objects.filter(organization=organization).first().public_id
    return public_ids
