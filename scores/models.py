"""The durable execution that takes one completion to one grader's score, the scores, and the rewards.

Rows are written by COPY and by single guarded statements (intake, claims, recording), so columns carry no defaults that
those would miss. Columns that repeat a parent's (organization, task, grader) have no foreign key in the database: the
parent's keeps them true, and each check would cost the hot path a lookup for every row.
"""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.fields import EncryptedTextField
from graders.models import Grader, GraderVersion
from scores.querysets import ReviewQuerySet, RewardQuerySet, RunQuerySet, ScoreQuerySet
from scores.states import ReviewStatus, RunStatus, WaitsFor
from tasks.models import Completion, Task
from tasks.states import Aggregation, Priority


class WorkflowRun(models.Model):
    """One completion on its way to one grader's score. Narrow on purpose: no text, few indexes.

    panel_size     scoring runs of the completion; 0 for a shadow run, whose score never counts
    attempt        claims so far, and the lease's token: a failure is written only by the attempt that holds the lease
    failures       attempts that ended in a failure; a lease that ran out is none, so kills use up no attempts
    leased_until   while `running`: when somebody else may take it
    wake_at        while `sleeping`: when it is due again
    deadline_at    no call begins after it
    error_code     of the last failed attempt; of the run itself once it is `failed`
    error_repeats  attempts in a row that ended with `error_code`
    waits_for      while `waiting`: a callback or a review, until `wake_at`
    generation     0 for the runs of the intake; a re-score makes runs of the next one
    steps          what happened on the way, newest last, bounded; null for a run that had nothing but its call
                   (scores/timeline.py)
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="runs")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    panel_size = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=9, choices=RunStatus.choices, default=RunStatus.PENDING)
    priority = models.SmallIntegerField(choices=Priority.choices, default=Priority.NORMAL)
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    wake_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField()
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_message = models.CharField(max_length=600, default="", blank=True)
    error_repeats = models.PositiveSmallIntegerField(default=0)
    waits_for = models.CharField(max_length=8, choices=WaitsFor.choices, blank=True, default="", db_default="")
    generation = models.PositiveSmallIntegerField(default=0, db_default=0)
    steps = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[RunQuerySet] = RunQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=RunStatus.values), name="scores_run_status")
        ]
        indexes = [
            models.Index(
                fields=["grader", "-priority", "id"], condition=models.Q(status="pending"), name="scores_run_due"
            ),
            models.Index(fields=["leased_until"], condition=models.Q(status="running"), name="scores_run_leased"),
            models.Index(fields=["wake_at"], condition=models.Q(status="sleeping"), name="scores_run_sleeping"),
            models.Index(fields=["completed_at"], condition=models.Q(panel_size__gt=1), name="scores_run_panels"),
            models.Index(fields=["wake_at"], condition=models.Q(status="waiting"), name="scores_run_waiting"),
            models.Index(fields=["organization", "id"], name="scores_run_by_org"),
            models.Index(
                fields=["organization", "error_code", "id"],
                condition=models.Q(status="failed"),
                name="scores_run_failed",
            ),
            models.Index(fields=["completed_at"], condition=models.Q(status="failed"), name="scores_run_failed_at"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("run", self.pk)


class Score(models.Model):
    """What one grader version said of one completion. One for a run, ever: the unique constraint is the last guard.

    raw_value   on the grader's own scale; the same as `value` for graders of protocol 1
    dimensions  [{name, value, weight}] or null
    superseded  a newer score of the same grader, from a re-score, counts in its place
    reviewed_by who decided, where a person did
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
    shadow = models.BooleanField(default=False)
    value = models.FloatField()
    confidence = models.FloatField()
    raw_value = models.FloatField()
    reasoning = EncryptedTextField(null=True)
    dimensions = models.JSONField(null=True)
    superseded = models.BooleanField(default=False, db_default=False)
    reviewed_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[ScoreQuerySet] = ScoreQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(value__gte=0, value__lte=1), name="scores_score_value"),
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="scores_score_confidence"
            ),
        ]
        indexes = [
            models.Index(fields=["organization", "id"], name="scores_score_by_org"),
            models.Index(fields=["task", "id"], name="scores_score_by_task"),
            models.Index(fields=["grader", "id"], name="scores_score_by_grader"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("score", self.pk)


class Reward(models.Model):
    """The end of a completion: its panel's scores as one number, or the failure that stands in its place.

    value      null if the completion failed; never a zero in its stead
    used       scores that went into it
    failed     scoring runs without a score
    error_code of the failure; '' beside a value
    """

    completion = models.OneToOneField(Completion, primary_key=True, on_delete=models.PROTECT, related_name="reward")
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    value = models.FloatField(null=True)
    confidence = models.FloatField(null=True)
    aggregation = models.CharField(max_length=20, choices=Aggregation.choices)
    used = models.PositiveSmallIntegerField()
    failed = models.PositiveSmallIntegerField()
    error_code = models.CharField(max_length=64, default="", blank=True)
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
            models.Index(fields=["organization", "completion"], name="scores_reward_by_org"),
            models.Index(fields=["task", "completion"], name="scores_reward_by_task"),
        ]

    def __str__(self) -> str:
        return f"reward of {self.completion_id}"


class Callback(models.Model):
    """One attempt at an asynchronous grader, on record before it goes out: its callback finds it here by its token.

    token_digest  SHA-256 of the token in the callback's address
    signature     as it was sent with the request
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
    """One run of such an attempt. `body_digest`: SHA-256 of the callback that was recorded for it."""

    id = models.BigAutoField(primary_key=True)
    callback = models.ForeignKey(Callback, on_delete=models.CASCADE, related_name="items")
    run = models.ForeignKey(WorkflowRun, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    attempt = models.PositiveIntegerField()
    body_digest = models.BinaryField(max_length=32, null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["callback", "run"], name="scores_callback_item")]

    def __str__(self) -> str:
        return f"{self.run_id} attempt {self.attempt}"


class Review(models.Model):
    """A run that waits for a person: the grader's preliminary verdict, and what was decided.

    run            of its reviews at most one is open; a run that was retried after a rejection may have several
    claimed_until  who looks at it has it so long for themselves
    expires_at     then the run fails with `review_expired`
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
    confidence = models.FloatField()
    reasoning = EncryptedTextField(null=True)
    dimensions = models.JSONField(null=True)
    claimed_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_value = models.FloatField(null=True, blank=True)
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


class Pulse(models.Model):
    """When a periodic work last came to its end, such as the sweep: what stands still shows here."""

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.at:%H:%M:%S}"
