"""Calls to asynchronous graders, which are looked up by the token of their callback."""

from django.db import models
from django.utils import timezone

from autotune.core import ids
from graders.models import Grader, GraderVersion
from scores.models.runs import WorkflowRun


class Callback(models.Model):
    """One call to an asynchronous grader. It is recorded before it is sent, and its callback is matched by the token.

    token_digest  SHA-256 of the token in the callback's address
    signature     signature that was sent with the request
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, related_name="+")
    grader_version = models.ForeignKey(
        GraderVersion, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    token_digest = models.BinaryField(max_length=32, unique=True)
    request_id = models.CharField(max_length=64)
    signature = models.CharField(max_length=64)
    kind = models.CharField(max_length=5)
    include_dimensions = models.BooleanField()
    include_explanation = models.BooleanField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"callback for {self.request_id}"


class CallbackItem(models.Model):
    """A run in a call to an asynchronous grader. `body_digest`: SHA-256 of the callback that was recorded for it."""

    id = models.BigAutoField(primary_key=True)
    callback = models.ForeignKey(Callback, on_delete=models.CASCADE, related_name="items")
    run = models.ForeignKey(WorkflowRun, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    attempt = models.PositiveIntegerField()
    body_digest = models.BinaryField(max_length=32, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["callback", "run"], name="scores_callback_item")]
        indexes = [models.Index(fields=["run"], name="scores_callback_item_run")]  # of an erased completion

    def __str__(self) -> str:
        return f"{self.run_id} attempt {self.attempt}"
