"""Models of erasures and legal holds.

Both remain after the completions and the task that they name are deleted, so they have no foreign key in the database.
"""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField
from scores.querysets import ErasureQuerySet, LegalHoldQuerySet
from scores.states import ErasureStatus
from tasks.models import Completion, Task


class Erasure(models.Model):
    """A request to erase the text of one completion, a task's or a model's; a job processes it in bounded batches.

    completion, task, model_id  what to erase: exactly one of the three
    cursor   id of the completion up to which it is done; null before the first
    erased   number of completions whose text is erased
    held     number of completions that a legal hold kept
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, db_index=False, related_name="+")
    completion = models.ForeignKey(
        Completion, null=True, blank=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    task = models.ForeignKey(
        Task, null=True, blank=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    model_id = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=9, choices=ErasureStatus.choices, default=ErasureStatus.PENDING)
    cursor = models.UUIDField(null=True, blank=True)
    erased = models.PositiveIntegerField(default=0)
    held = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ErasureQuerySet] = ErasureQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["organization", "id"], name="scores_erasure_by_org"),
            models.Index(fields=["id"], condition=~models.Q(status="completed"), name="scores_erasure_open"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("ers", self.pk)


class LegalHold(models.Model):
    """A hold that protects text and scores from retention and erasure until it is released.

    completion, task, model_id  what it covers; if all are null, the whole organization
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, db_index=False, related_name="+")
    completion = models.ForeignKey(
        Completion, null=True, blank=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    task = models.ForeignKey(
        Task, null=True, blank=True, on_delete=models.CASCADE, db_constraint=False, related_name="+"
    )
    model_id = models.CharField(max_length=200, blank=True)
    reason = EncryptedTextField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    released_at = models.DateTimeField(null=True, blank=True)
    released_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )

    objects: ClassVar[LegalHoldQuerySet] = LegalHoldQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes = [
            models.Index(fields=["organization", "id"], name="scores_hold_by_org"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("hold", self.pk)
