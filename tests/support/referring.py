"""A world in which every column of the register of references has a value that an erasure must find."""

import hashlib
import json
from datetime import timedelta

from django.apps import apps
from django.db import models
from django.utils import timezone

from autotune.access.models import StoredAnswer
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedField, EncryptedJSONField
from autotune.core.models import DamagedValue
from autotune.webhooks.models import Event
from exports.models import Export, ExportFile
from scores.feedback.models import Feedback
from scores.models import Callback, Erasure, LegalHold, LiveAnswer, Review, Score, WorkflowRun
from tasks.models import Completion, Task
from tests.factories import CallbackFactory, CompletionFactory, DeliveryFactory, ExportFactory, RunFactory, ScoreFactory
from tests.support.damaging import columns, filled_world

MARK = "a text of the customer"
JSON = {"webhooks.Delivery.log": [{"at": "t", "status": 500, "latencyMs": 1.0, "error": None, "excerpt": MARK}]}
SUBJECTS = (Completion, WorkflowRun, Score, Review, Callback)  # an erasure of a completion is about these rows


def references() -> dict[str, models.Field]:
    """Return the columns that may name a subject: UUIDs that are no key of their own row, and foreign keys to one."""
    return {
        f"{model._meta.label}.{field.name}": field
        for model in apps.get_models()
        for field in model._meta.local_fields
        if (isinstance(field, models.ForeignKey) and issubclass(field.related_model, SUBJECTS))
        or (isinstance(field, models.UUIDField) and not field.primary_key)
    }


def referring_world(organization):
    """Create rows about completions in every table; every reference names one, every encrypted value has MARK."""
    owner = filled_world(organization)
    score = Score.objects.get(pk=ids.decode("score", owner.ids["score"]))
    review = Review.objects.get(pk=ids.decode("rev", owner.ids["rev"]))
    completion, task = score.completion, score.task
    copy = CompletionFactory(task=task, created_by=task.created_by)
    ScoreFactory(run__completion=copy, run__grader=score.grader, reused_from=score.pk)
    RunFactory(
        completion=CompletionFactory(task=task), grader=score.grader, status="waiting", waits_for="reuse",
        reuses=completion.pk, wake_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    CallbackFactory(run=review.run)
    LiveAnswer.objects.create(
        organization=organization, task_version=completion.task_version, model_id=completion.model_id,
        answer_digest=hashlib.sha256(b"answer").digest(), completion=completion, replaces=LiveAnswer.NOTHING,
    )  # fmt: skip
    DeliveryFactory(
        webhook__organization=organization,
        event=Event.objects.create(organization=organization, kind="score.completed"),
    )
    _refer(completion, review)
    for name, field in columns().items():
        _mark(name, field)
    return owner


def _refer(completion, review):
    """Let the columns without a foreign key name the completion, and hold text about it in an export and in events."""
    first, *others = Event.objects.order_by("pk")
    Event.objects.filter(pk=first.pk).update(subject_id=review.pk)
    Event.objects.filter(pk__in=[event.pk for event in others]).update(subject_id=completion.pk)
    Event.objects.update(fanned_out_at=timezone.now())  # only then has an event deliveries
    StoredAnswer.objects.update(subject=completion.pk)
    Feedback.objects.update(review=review)
    Task.objects.filter(pk=completion.task_id).update(erased_to=completion.pk)
    Erasure.objects.update(completion=completion, model_id="", status="completed", cursor=completion.pk)
    LegalHold.objects.update(completion=completion, model_id="", released_at=timezone.now())
    DamagedValue.objects.create(table="tasks_completion", column="prompt", row=completion.pk)
    Export.objects.all().delete()
    ExportFactory(
        organization=completion.organization, created_by=completion.created_by, purged_to=completion.pk,
        files={"records.jsonl": b"{}"},
    )  # fmt: skip
    facts = {"tasks": [ids.encode("task", completion.task_id)], "models": [completion.model_id]}
    ExportFile.objects.update(first=completion.pk, last=completion.pk, facts=facts)


def _mark(name: str, field: EncryptedField) -> None:
    for row in field.model._base_manager.all():
        setattr(row, field.name, JSON.get(name, [{"role": "user", "content": MARK}]) if is_json(field) else MARK)
        row.save(update_fields=[field.name])


def is_json(field: EncryptedField) -> bool:
    return isinstance(field, EncryptedJSONField)


def subject_ids() -> set:
    return {pk for model in SUBJECTS for pk in model._base_manager.values_list("pk", flat=True)}


def marked_columns() -> set[str]:
    """Return the encrypted columns of which a value still holds MARK."""
    return {
        name
        for name, field in columns().items()
        for row in field.model._base_manager.all()
        if MARK in json.dumps(getattr(row, field.name))
    }


def referring_columns(gone: set) -> set[str]:
    """Return the columns that name one of these ids."""
    return {
        name
        for name, field in references().items()
        if gone.intersection(field.model._base_manager.values_list(field.attname, flat=True))
    }
