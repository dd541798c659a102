"""Damage ciphertext: list every encrypted column, create rows for all of them, and alter the last byte of a value."""

import hashlib
from datetime import timedelta

from django.db import models
from django.utils import timezone

from autotune.access.models import SecondFactorSecret, StoredAnswer
from autotune.core import ids
from autotune.core.crypto import damage, encryption, reencryption
from autotune.core.crypto.fields import Ciphertext, EncryptedJSONField
from graders.models import Grader, GraderCheck, GraderSecret, GraderStatusChange
from scores.models import AttemptEvidence, WorkflowRun
from tasks.models import Completion
from tests.access.matrix import owned
from tests.factories import FeedbackFactory, public

JSON = {
    "tasks.Completion.messages": [{"role": "user", "content": "a question"}],
    "webhooks.Delivery.log": [
        {"at": "2026-01-01T00:00:00Z", "status": 500, "latencyMs": 1.0, "error": "unexpected_status", "excerpt": None}
    ],
}


def columns():
    """Every encrypted column of every model, by the name that it stores: {`tasks.Completion.prompt`: the field}."""
    return reencryption.columns()


def filled_world(organization, role="admin"):
    """Create the objects of a person of this role (see `owned`), with a value in every encrypted column."""
    owner = owned(organization, role)
    grader = Grader.objects.get(pk=ids.decode("grader", owner.ids["grader"]))
    GraderCheck.objects.create(grader=grader, name="health", passed=False, detail="The answer.")
    GraderStatusChange.objects.create(grader=grader, previous="active", current="degraded", reason="The reason.")
    GraderSecret.objects.create(
        grader=grader, organization=grader.organization, secret="an old one", current=False, confirmed=True,
        valid_until=timezone.now() + timedelta(hours=1),
    )  # fmt: skip
    run = WorkflowRun.objects.get(pk=ids.decode("run", owner.ids["run"]))
    AttemptEvidence.objects.create(
        organization_id=run.organization_id, run=run, grader_id=run.grader_id, attempt=1, code="grader_error",
        content={"status": 200},
    )  # fmt: skip
    FeedbackFactory(completion=Completion.objects.get(pk=ids.decode("comp", owner.ids["comp"])))
    SecondFactorSecret.objects.create(user=grader.created_by, secret="JBSWY3DPEHPK3PXP")
    StoredAnswer.objects.create(
        organization=organization, route="POST /api/v1/tasks", key_digest=hashlib.sha256(b"key").digest(),
        request_digest=bytes(32), status=200, answer="{}", expires_at=timezone.now() + timedelta(hours=1),
    )  # fmt: skip
    for name, field in columns().items():
        for row in field.model._base_manager.all():
            if not getattr(row, field.name):
                setattr(row, field.name, JSON.get(name, {"a": 1}) if isinstance(field, EncryptedJSONField) else "text")
                row.save(update_fields=[field.name])
    return owner


def damage_rows(field, rows=None):
    """Alter the last byte of a column in these rows, or in all; return how many rows were altered."""
    name = field.name
    stored = (field.model._base_manager.all() if rows is None else rows).values_list("pk", name)
    altered = [(pk, flipped(value)) for pk, value in stored if value]
    for pk, value in altered:
        field.model._base_manager.filter(pk=pk).update(**{name: Ciphertext(value)})
    return len(altered)


def damage_row(row, name):
    """Alter the last byte of one value; return the row as read again."""
    field = row._meta.get_field(name)
    assert damage_rows(field, type(row)._base_manager.filter(pk=row.pk)) == 1
    return type(row)._base_manager.get(pk=row.pk)


def flipped(ciphertext):
    ciphertext = bytes(ciphertext)
    return ciphertext[:-1] + bytes([ciphertext[-1] ^ 1])


def damage_everything():
    """Alter every value of every encrypted column; return {column: how many}."""
    return {name: damage_rows(field) for name, field in columns().items()}


def restart():
    """Forget keys and damage, as in a process that has read nothing yet."""
    encryption.keyring.clear()
    damage.forget()


def of_kind(owner, model: type[models.Model], kind):
    """The owner's object of this kind."""
    return model._base_manager.get(pk=ids.decode(kind, owner.ids[kind]))


__all__ = ["columns", "damage_everything", "damage_row", "damage_rows", "filled_world", "flipped", "public", "restart"]
