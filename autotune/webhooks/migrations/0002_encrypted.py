"""Addresses and the log of tries become ciphertext: secrets of receivers, and the beginning of what they answered."""

from typing import Any

from django.db import migrations, models

import autotune.core.crypto.fields
from autotune.core.crypto import encryption

AT_ONCE = 1_000


def encrypt(apps: Any, schema_editor: Any) -> None:
    """In bounded steps, the plain text emptied with it, so that what is left of it in the files is vacuumed away."""
    webhook, delivery = apps.get_model("webhooks", "Webhook"), apps.get_model("webhooks", "Delivery")
    _encrypt(webhook, "url", "organization_id", "plain_url", "")
    _encrypt(delivery, "log", "webhook__organization_id", "plain_log", [])


def _encrypt(model: Any, name: str, organization: str, old: str, empty: Any) -> None:
    field = model._meta.get_field(name)
    plain = model.objects.exclude(**{old: empty}).order_by("pk")
    while rows := list(plain.values_list("pk", organization, old)[:AT_ONCE]):
        for pk, organization_id, value in rows:
            envelope = field.envelope(encryption.cipher_for(organization_id), pk, value)
            model.objects.filter(pk=pk).update(**{name: envelope, old: empty})


def decrypt(apps: Any, schema_editor: Any) -> None:
    for model, name, old in (("Webhook", "url", "plain_url"), ("Delivery", "log", "plain_log")):
        rows = apps.get_model("webhooks", model).objects
        for row in rows.exclude(**{f"{name}__isnull": True}).iterator(AT_ONCE):
            rows.filter(pk=row.pk).update(**{old: getattr(row, name)})


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_initial"), ("core", "0002_rotation")]
    operations = [
        migrations.AlterField("Webhook", "url", models.CharField(max_length=2048, blank=True)),
        migrations.RenameField("Webhook", "url", "plain_url"),
        migrations.RenameField("Delivery", "log", "plain_log"),
        migrations.AddField("Webhook", "url", autotune.core.crypto.fields.EncryptedTextField(null=True)),
        migrations.AddField("Delivery", "log", autotune.core.crypto.fields.EncryptedJSONField(null=True)),
        migrations.RunPython(encrypt, decrypt, elidable=True),
        migrations.AlterField("Webhook", "url", autotune.core.crypto.fields.EncryptedTextField()),
        migrations.RemoveField("Webhook", "plain_url"),
        migrations.RemoveField("Delivery", "plain_log"),
    ]
