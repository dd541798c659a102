"""Messages of failed runs become ciphertext: graders write some of them."""

from typing import Any

from django.db import migrations

import autotune.core.crypto.fields
from autotune.core.crypto import encryption

AT_ONCE = 1_000


def encrypt(apps: Any, schema_editor: Any) -> None:
    """In bounded steps, the plain text emptied with it, so that what is left of it in the files is vacuumed away."""
    run = apps.get_model("scores", "WorkflowRun")
    field = run._meta.get_field("error_message")
    plain = run.objects.exclude(plain_message="").order_by("pk")
    while rows := list(plain.values_list("pk", "organization_id", "plain_message")[:AT_ONCE]):
        for pk, organization_id, message in rows:
            envelope = field.envelope(encryption.cipher_for(organization_id), pk, message)
            run.objects.filter(pk=pk).update(error_message=envelope, plain_message="")


def decrypt(apps: Any, schema_editor: Any) -> None:
    run = apps.get_model("scores", "WorkflowRun")
    for row in run.objects.exclude(error_message__isnull=True).only("pk", "error_message").iterator(AT_ONCE):
        run.objects.filter(pk=row.pk).update(plain_message=row.error_message, error_message="")


class Migration(migrations.Migration):
    dependencies = [("scores", "0004_trust"), ("core", "0002_rotation")]
    operations = [
        migrations.RenameField("WorkflowRun", "error_message", "plain_message"),
        migrations.AddField("WorkflowRun", "error_message", autotune.core.crypto.fields.EncryptedNoteField()),
        migrations.RunPython(encrypt, decrypt, elidable=True),
        migrations.RemoveField("WorkflowRun", "plain_message"),
    ]
