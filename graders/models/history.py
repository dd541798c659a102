"""Models of a grader's history: the results of its checks, and the changes of its status."""

from typing import ClassVar
from uuid import UUID

from django.db import models
from django.utils import timezone

from autotune.core import ids
from autotune.core.crypto.fields import EncryptedNoteField
from graders.models.graders import Grader
from graders.querysets import GraderPartQuerySet


class GraderCheck(models.Model):
    """The result of one check of a grader, from a verification or a health check. `uid` binds its ciphertext."""

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(default=ids.new, editable=False)
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, db_index=False, related_name="checks")
    name = models.CharField(max_length=32)
    passed = models.BooleanField()
    detail = EncryptedNoteField(row="uid")
    latency_ms = models.FloatField(null=True)
    clock_skew_s = models.FloatField(null=True)
    at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[GraderPartQuerySet] = GraderPartQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [models.Index(fields=["grader", "-id"], name="graders_check_recent")]

    def __str__(self) -> str:
        return f"{self.name}: {'passed' if self.passed else 'failed'}"

    @property
    def organization_id(self) -> UUID:
        """Whose data key encrypts."""
        return self.grader.organization_id


class GraderStatusChange(models.Model):
    """A change of a grader's status, with its reason. `uid` binds its ciphertext."""

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(default=ids.new, editable=False)
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, related_name="status_changes")
    previous = models.CharField(max_length=8)
    current = models.CharField(max_length=8)
    reason = EncryptedNoteField(row="uid")
    at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[GraderPartQuerySet] = GraderPartQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{self.previous} -> {self.current}"

    @property
    def organization_id(self) -> UUID:
        """Whose data key encrypts."""
        return self.grader.organization_id
