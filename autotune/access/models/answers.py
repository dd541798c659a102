"""The model of stored responses, which repeat the answer to a request with the same `Idempotency-Key`."""

from django.db import models

from autotune.access.models.organizations import Organization
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField


class StoredAnswer(models.Model):
    """The response to a POST with an `Idempotency-Key`, stored in the same transaction as its effects.

    route           method and path
    key_digest      SHA-256 of the key
    request_digest  keyed digest of the query and the bytes of the body
    subject         the completion whose text is in the response, or the task if it has the text of several completions;
                    erasing that text erases the response too
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.CASCADE, db_index=False)
    route = models.CharField(max_length=200)
    key_digest = models.BinaryField(max_length=32)
    request_digest = models.BinaryField(max_length=32)
    subject = models.UUIDField(null=True)
    status = models.PositiveSmallIntegerField()
    answer = EncryptedTextField(null=True)
    expires_at = models.DateTimeField(db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "route", "key_digest"], name="access_stored_answer_key")
        ]
        indexes = [
            models.Index(fields=["subject"], condition=models.Q(subject__isnull=False), name="access_stored_answer_of"),
        ]

    def __str__(self) -> str:
        return f"{self.route} {self.status}"
