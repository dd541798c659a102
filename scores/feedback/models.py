"""The model of feedback."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField
from graders.models import Grader, GraderVersion
from scores.feedback.querysets import FeedbackQuerySet
from scores.models import Review
from tasks.models import Completion


class SourceKind(models.TextChoices):
    """Who gave the feedback: a person, the grader's owner about its own grader, a model, or an imported file."""

    HUMAN = "human"
    OWNER = "owner"
    MODEL = "model"
    IMPORT = "import"


class Feedback(models.Model):
    """A rater's judgement of one completion for one grader. Newer feedback of the same rater replaces it.

    grader_version  the version whose score the rater saw
    review          the review whose decision this is; null for other feedback
    value           from 0 to 1; null for a rejected score. `raw_value` is the same on the version's scale
    label_policy    the name of the instructions that the rater followed; '' for none
    blind           the rater saw no score first
    anchored        the rater confirmed the score that they saw
    adjudicated     it is the ground truth, whatever other raters say
    replaced_at     when newer feedback of the same rater replaced it; null while it is current
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, db_index=False, related_name="feedback")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, related_name="+")
    grader_version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT, db_index=False, related_name="+")
    rater = models.ForeignKey(User, on_delete=models.PROTECT, db_index=False, related_name="+")
    review = models.OneToOneField(Review, null=True, blank=True, on_delete=models.PROTECT, related_name="feedback")
    value = models.FloatField(null=True, blank=True)
    raw_value = models.FloatField(null=True, blank=True)
    explanation = EncryptedTextField(null=True)
    source_kind = models.CharField(max_length=6, choices=SourceKind.choices, default=SourceKind.HUMAN)
    label_policy = models.CharField(max_length=200, default="", blank=True)
    blind = models.BooleanField(default=False)
    anchored = models.BooleanField(default=False)
    adjudicated = models.BooleanField(default=False)
    replaced_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[FeedbackQuerySet] = FeedbackQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "feedback"
        constraints = [
            models.UniqueConstraint(
                fields=["completion", "grader", "rater"],
                condition=models.Q(replaced_at=None),
                name="feedback_current",
            ),
            models.CheckConstraint(
                condition=models.Q(value=None, raw_value=None)
                | models.Q(value__isnull=False, value__gte=0, value__lte=1, raw_value__isnull=False),
                name="feedback_value",
            ),
            models.CheckConstraint(condition=models.Q(source_kind__in=SourceKind.values), name="feedback_source_kind"),
        ]
        indexes = [
            models.Index(fields=["completion"], name="feedback_by_completion"),
            models.Index(fields=["organization", "id"], name="feedback_by_org"),
            models.Index(fields=["grader", "id"], name="feedback_by_grader"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("fb", self.pk)
