"""Scored completions by the million, for the measurements of exports: written past the API, as intake and scoring do."""

import random

import common

CHUNK = 5_000
PER_PROMPT = 8  # answers to one prompt, as a trainer samples them


def fill(rows, prompt_bytes, response_bytes):
    """Add `rows` scored completions to the first organization, in a task of their own; the task's public id.

    Needs an environment with the server's settings, and `django.setup()`.
    """
    from django.db import connection, transaction
    from django.utils import timezone

    from autotune.access.models import Organization, User
    from autotune.core import bulk, ids
    from autotune.core.crypto import encryption
    from autotune.core.crypto.fields import encrypted
    from graders.models import Grader, GraderVersion
    from scores.models import Reward, Score, WorkflowRun
    from tasks.models import Completion, PanelMember, Task, TaskVersion

    organization, user = Organization.objects.get(operating=True), User.objects.first()
    name = f"export of {rows} rows of {prompt_bytes + response_bytes} bytes"
    grader = Grader.objects.create(organization=organization, created_by=user, name=name, endpoint="https://g.example")
    version = GraderVersion.objects.create(grader=grader, label="1")
    task = Task.objects.create(organization=organization, created_by=user, name=name)
    content = {"systemPrompt": None, "promptTemplate": "{{prompt}}", "responseSchema": None, "model": None}
    task.version = TaskVersion.objects.create(
        task=task, organization=organization, digest=f"{prompt_bytes:032}{rows:032}", content=content
    )
    task.save()
    PanelMember.objects.create(task_version=task.version, grader=grader, position=0)
    prompt, response = encrypted(Completion, "prompt"), encrypted(Completion, "response")
    cipher, rnd = encryption.cipher_for(organization.pk), random.Random(1)
    pool = common.text(1_000_000, rnd)
    o, t, u, g, v = organization.pk, task.pk, user.pk, grader.pk, version.pk

    def text(length, start):
        start = start % (len(pool) - length)
        return pool[start : start + length]

    for start in range(0, rows, CHUNK):
        now = timezone.now()
        numbers = range(start, min(start + CHUNK, rows))
        keys = [(ids.new(), ids.new(), ids.new()) for _ in numbers]
        with transaction.atomic():
            bulk.insert(
                Completion,
                ("id", "organization_id", "task_id", "task_version_id", "created_by_id", "model_id", "prompt",
                 "response", "form", "priority", "source", "created_at"),
                ((c, o, t, task.version.pk, u, f"model-{n % 3}",
                  prompt.envelope(cipher, c, f"{n // PER_PROMPT} {text(prompt_bytes, n // PER_PROMPT * 7_919)}"),
                  response.envelope(cipher, c, f"{n} {text(response_bytes, n * 104_729)}"), "prompt", 1, "api", now)
                 for n, (c, _, _) in zip(numbers, keys)),
            )  # fmt: skip
            bulk.insert(
                WorkflowRun,
                ("id", "organization_id", "completion_id", "task_id", "grader_id", "panel_size", "status", "priority",
                 "attempt", "failures", "deadline_at", "error_code", "error_message", "error_repeats", "created_at",
                 "completed_at"),
                ((r, o, c, t, g, 1, "completed", 1, 1, 0, now, "", None, 0, now, now) for c, r, _ in keys),
            )  # fmt: skip
            bulk.insert(
                Score,
                ("id", "organization_id", "run_id", "completion_id", "task_id", "grader_id", "grader_version_id",
                 "purpose", "value", "confidence", "raw_value", "created_at"),
                ((s, o, r, c, t, g, v, "score", n % 101 / 100, 0.9, n % 101 / 100, now)
                 for n, (c, r, s) in zip(numbers, keys)),
            )  # fmt: skip
            bulk.insert(
                Reward,
                ("completion_id", "organization_id", "task_id", "value", "confidence", "aggregation", "used", "failed",
                 "error_code", "scored_at"),
                ((c, o, t, n % 101 / 100, 0.9, "mean", 1, 0, "", now) for n, (c, _, _) in zip(numbers, keys)),
            )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("vacuum analyze")
    return task.public_id
