"""The model of reviews: runs that wait for a person's decision."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedJSONField, EncryptedTextField
from graders.models import Grader, GraderVersion
from scores.models.runs import WorkflowRun
from scores.querysets import ReviewQuerySet
from scores.states import ReviewStatus
from tasks.models import Completion, Task


class Review(models.Model):
    """A run that waits for a person's decision: the grader's preliminary verdict, and the decision.

    run            at most one of its reviews is open; a run that was retried after a rejection may have several
    raw_value      the preliminary raw value, if the grader gave one; null: it follows from `value`
    details        of the preliminary verdict, as in Score
    blind          nobody sees the preliminary verdict while the review is open, and an approval needs a value
    claimed_until  until when the reviewer who claimed it is the only one who may decide
    expires_at     when the run fails with `review_expired` if nobody has decided
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    run = models.ForeignKey(WorkflowRun, on_delete=models.PROTECT, related_name="reviews")
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="reviews")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, related_name="+")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, related_name="+")
    grader_version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT, db_index=False, related_name="+")
    status = models.CharField(max_length=9, choices=ReviewStatus.choices, default=ReviewStatus.OPEN)
    value = models.FloatField()
    raw_value = models.FloatField(null=True, blank=True)
    confidence = models.FloatField()
    reasoning = EncryptedTextField(null=True)
    details = EncryptedJSONField(null=True)
    dimensions = models.JSONField(null=True)
    blind = models.BooleanField(default=False, db_default=False)
    claimed_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_value = models.FloatField(null=True, blank=True)
    decided_raw_value = models.FloatField(null=True, blank=True)
    explanation = EncryptedTextField(null=True)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[ReviewQuerySet] = ReviewQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=ReviewStatus.values), name="scores_review_status"),
            models.UniqueConstraint(fields=["run"], condition=models.Q(status="open"), name="scores_review_of_run"),
        ]
        indexes = [
            models.Index(fields=["organization", "id"], name="scores_review_by_org"),
            models.Index(fields=["expires_at"], condition=models.Q(status="open"), name="scores_review_open"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("rev", self.pk)

    @property
    def hides_verdict(self) -> bool:
        return self.blind and self.status == ReviewStatus.OPEN

    @property
    def preliminary_value(self) -> float | None:
        """The grader's value; None while the review hides it."""
        return None if self.hides_verdict else self.value

    @property
    def preliminary_confidence(self) -> float | None:
        """The grader's confidence; None while the review hides it."""
        return None if self.hides_verdict else self.confidence
