"""Details of checks and reasons of status changes become ciphertext: they may hold what a grader said."""

from functools import partial
from typing import Any

from django.db import migrations, models

import autotune.core.crypto.fields
from autotune.core import ids
from autotune.core.crypto import encryption

AT_ONCE = 1_000
TEXTS = {"GraderCheck": "detail", "GraderStatusChange": "reason"}


def name_rows(apps: Any, schema_editor: Any) -> None:
    for name in TEXTS:
        model = apps.get_model("graders", name)
        unnamed = model.objects.filter(uid=None).order_by("pk").values_list("pk", flat=True)
        while keys := list(unnamed[:AT_ONCE]):
            for pk in keys:
                model.objects.filter(pk=pk).update(uid=ids.new())


def encrypt(apps: Any, schema_editor: Any) -> None:
    """In bounded steps, the plain text emptied with it, so that what is left of it in the files is vacuumed away."""
    for name, text in TEXTS.items():
        model = apps.get_model("graders", name)
        field = model._meta.get_field(text)
        plain = model.objects.exclude(plain="").order_by("pk")
        while rows := list(plain.values_list("pk", "uid", "grader__organization_id", "plain")[:AT_ONCE]):
            for pk, uid, organization_id, said in rows:
                envelope = field.envelope(encryption.cipher_for(organization_id), uid, said)
                model.objects.filter(pk=pk).update(**{text: envelope, "plain": ""})


def decrypt(apps: Any, schema_editor: Any) -> None:
    for name, text in TEXTS.items():
        model = apps.get_model("graders", name)
        for row in model.objects.exclude(**{f"{text}__isnull": True}).iterator(AT_ONCE):
            model.objects.filter(pk=row.pk).update(**{"plain": getattr(row, text), text: ""})


uid = partial(models.UUIDField, default=ids.new, editable=False)


class Migration(migrations.Migration):
    dependencies = [("graders", "0002_guards"), ("core", "0002_rotation")]
    operations = [
        *(migrations.AddField(name, "uid", uid(null=True, default=None)) for name in TEXTS),
        migrations.RunPython(name_rows, migrations.RunPython.noop, elidable=True),
        *(migrations.AlterField(name, "uid", uid()) for name in TEXTS),
        migrations.AlterField("GraderStatusChange", "reason", models.CharField(max_length=600, blank=True)),
        *(migrations.RenameField(name, text, "plain") for name, text in TEXTS.items()),
        *(
            migrations.AddField(name, text, autotune.core.crypto.fields.EncryptedNoteField(row="uid"))
            for name, text in TEXTS.items()
        ),
        migrations.RunPython(encrypt, decrypt, elidable=True),
        *(migrations.RemoveField(name, "plain") for name in TEXTS),
    ]
