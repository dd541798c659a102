"""Models of scores and rewards."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedJSONField, EncryptedTextField
from graders.models import Grader, GraderVersion
from scores.models.runs import WorkflowRun
from scores.querysets import RewardQuerySet, ScoreQuerySet
from scores.states import RunPurpose
from tasks.models import Completion, Task
from tasks.querysets import READER_ROWS
from tasks.states import Aggregation, CompletionSource


class Score(models.Model):
    """The score of one grader version for one completion. A unique constraint ensures that each run has at most one.

    purpose     that of its run; only a score of the purpose `score` counts
    raw_value   on the scale of its grader version; the same as `value` on the scale from 0 to 1
    calibrated_value, calibrated_map_id  the value after a score map, and the map; both are null without one. No
                foreign key: the value stays when the map is deleted
    details     what a hosted grader recorded beside its reasoning, as JSON; private where the reasoning is
    dimensions  [{name, value, weight}] or null
    superseded  a newer score of the same grader, from a re-score, counts in its place
    reviewed_by the reviewer who decided, if there was a review
    reused_from the score that this one copies, of an equal answer from another model. No foreign key: the value stays
                when that score is deleted
    deleted_at  marks a deleted score: it is not listed, exported or counted, and its text is erased
    source, held_out  copies of the completion's, so that readers' indexes hold only what readers use
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    run = models.OneToOneField(WorkflowRun, on_delete=models.PROTECT, related_name="score")
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, db_constraint=False, related_name="scores")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    grader_version = models.ForeignKey(
        GraderVersion, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    purpose = models.CharField(
        max_length=6, choices=RunPurpose.choices, default=RunPurpose.SCORE, db_default=RunPurpose.SCORE.value
    )
    value = models.FloatField()
    confidence = models.FloatField()
    raw_value = models.FloatField()
    calibrated_value = models.FloatField(null=True, blank=True)
    calibrated_map_id = models.UUIDField(null=True, blank=True)
    reasoning = EncryptedTextField(null=True)
    details = EncryptedJSONField(null=True)
    dimensions = models.JSONField(null=True)
    superseded = models.BooleanField(default=False, db_default=False)
    reused_from = models.UUIDField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    source = models.CharField(
        max_length=10, choices=CompletionSource.choices, default=CompletionSource.API, db_default=CompletionSource.API
    )
    held_out = models.BooleanField(default=False, db_default=False)
    reviewed_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[ScoreQuerySet] = ScoreQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(purpose__in=RunPurpose.values), name="scores_score_purpose"),
            models.CheckConstraint(condition=models.Q(value__gte=0, value__lte=1), name="scores_score_value"),
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="scores_score_confidence"
            ),
            models.CheckConstraint(
                condition=models.Q(calibrated_value=None, calibrated_map_id=None)
                | models.Q(
                    calibrated_value__isnull=False,
                    calibrated_value__gte=0,
                    calibrated_value__lte=1,
                    calibrated_map_id__isnull=False,
                ),
                name="scores_score_calibrated",
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "id"], condition=READER_ROWS, name="scores_score_by_org"),
            models.Index(fields=["task", "id"], condition=READER_ROWS, name="scores_score_by_task"),
            # All scores: the check for stalled graders must see the newest score, whatever its source.
            models.Index(fields=["grader", "id"], name="scores_score_by_grader"),
            models.Index(
                fields=["organization", "id"],
                condition=models.Q(source=CompletionSource.EVALUATION),
                name="scores_score_evaluated",
            ),
            models.Index(
                fields=["completion"], condition=models.Q(reused_from__isnull=False), name="scores_score_reused"
            ),
            models.Index(fields=["task", "value", "id"], condition=READER_ROWS, name="scores_score_by_value"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("score", self.pk)

    @property
    def is_scoring(self) -> bool:
        """Whether it counts unless a newer score replaces it: scores of other purposes never do."""
        return self.purpose == RunPurpose.SCORE


class Reward(models.Model):
    """The reward of a completion: its panel's scores as one number, or the failure if there is none.

    value      null if the completion failed, never 0 instead
    uncalibrated_value  what it would be of the graders' own values; null if it includes no calibrated value
    used       number of scores that the reward includes
    failed     number of scoring runs without a score
    error_code code of the failure; '' if there is a value
    source, held_out  copies of the completion's
    """

    completion = models.OneToOneField(Completion, primary_key=True, on_delete=models.PROTECT, related_name="reward")
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    value = models.FloatField(null=True)
    uncalibrated_value = models.FloatField(null=True, blank=True)
    confidence = models.FloatField(null=True)
    aggregation = models.CharField(max_length=20, choices=Aggregation.choices)
    used = models.PositiveSmallIntegerField()
    failed = models.PositiveSmallIntegerField()
    error_code = models.CharField(max_length=64, default="", blank=True)
    source = models.CharField(
        max_length=10, choices=CompletionSource.choices, default=CompletionSource.API, db_default=CompletionSource.API
    )
    held_out = models.BooleanField(default=False, db_default=False)
    scored_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[RewardQuerySet] = RewardQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(value__isnull=False, error_code="")
                | (models.Q(value=None) & ~models.Q(error_code="")),
                name="scores_reward_value_or_error",
            )
        ]
        indexes = [
            models.Index(fields=["organization", "completion"], condition=READER_ROWS, name="scores_reward_by_org"),
            models.Index(fields=["task", "completion"], condition=READER_ROWS, name="scores_reward_by_task"),
            models.Index(
                fields=["task", "value", "completion"],
                condition=models.Q(value__isnull=False),
                name="scores_reward_by_value",
            ),
        ]

    def __str__(self) -> str:
        return f"reward of {self.completion_id}"
