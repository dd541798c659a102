"""Models of workflow runs, each of which takes one completion to one grader's score, and of the pulses of jobs."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedNoteField
from graders.models import Grader, GraderVersion
from scores.querysets import WorkflowRunQuerySet
from scores.states import BACKGROUND, BACKGROUND_PRIORITY, LONG_AGO, RunPurpose, RunStatus, WaitKind
from tasks.models import Completion, Task
from tasks.states import Priority


class WorkflowRun(models.Model):
    """The durable execution that takes one completion to one grader's score.

    The table is narrow on purpose: it has few indexes, and no text except error messages.

    grader_version the version that must judge; null: the one that the grader has when it judges. No constraint, since a
                   version may be gone by then: the run fails with `version_gone`
    purpose        why it judges; only the score of a run of the purpose `score` counts
    panel_size     scoring runs of the completion; 0 for a run of another purpose
    attempt        claims so far, and the lease's token: a failure is written only by the attempt that holds the lease
    failures       attempts that ended in a failure; an expired lease does not count, so a killed worker uses none up
    leased_until   while `running`: when another worker may claim it
    wake_at        while `sleeping`: when it is due again
    deadline_at    no call begins after it
    error_code     of the last failed attempt; of the run itself once it is `failed`
    error_repeats  attempts in a row that ended with `error_code`
    waits_for      while `waiting`: a callback, a model or a review, until `wake_at`; or the score of the completion in
                   `reuses`
    reuses         while it waits for `reuse`: the completion of equal content that graders judge; no foreign key, since
                   retention may delete that completion first
    generation     0 for the runs of the intake; each re-score creates runs of the next generation
    steps          the newest events of the run, oldest first; null for a run that was only called and scored
                   (scores/engine/timeline.py)
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    completion = models.ForeignKey(Completion, on_delete=models.PROTECT, related_name="runs")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    grader_version = models.ForeignKey(
        GraderVersion, null=True, blank=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False,
        related_name="+",
    )  # fmt: skip
    purpose = models.CharField(
        max_length=6, choices=RunPurpose.choices, default=RunPurpose.SCORE, db_default=RunPurpose.SCORE.value
    )
    panel_size = models.PositiveSmallIntegerField()
    status = models.CharField(max_length=9, choices=RunStatus.choices, default=RunStatus.PENDING)
    priority = models.SmallIntegerField(
        choices=[(BACKGROUND_PRIORITY, "Background"), *Priority.choices], default=Priority.NORMAL
    )
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    wake_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField()
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_message = EncryptedNoteField()
    error_repeats = models.PositiveSmallIntegerField(default=0)
    waits_for = models.CharField(max_length=8, choices=WaitKind.choices, blank=True, default="", db_default="")
    reuses = models.UUIDField(null=True, blank=True)
    generation = models.PositiveSmallIntegerField(default=0, db_default=0)
    steps = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[WorkflowRunQuerySet] = WorkflowRunQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=RunStatus.values), name="scores_run_status"),
            models.CheckConstraint(
                condition=models.Q(purpose=RunPurpose.SCORE, panel_size__gt=0, priority__gt=BACKGROUND_PRIORITY)
                | models.Q(purpose=RunPurpose.SHADOW, panel_size=0, priority__gt=BACKGROUND_PRIORITY)
                | models.Q(purpose__in=BACKGROUND, panel_size=0, priority=BACKGROUND_PRIORITY),
                name="scores_run_purpose",
            ),
        ]
        indexes = [
            models.Index(
                fields=["grader", "-priority", "id"], condition=models.Q(status="pending"), name="scores_run_due"
            ),
            models.Index(
                fields=["grader", "-priority", "id"],
                condition=models.Q(status="pending", priority__lte=BACKGROUND_PRIORITY),
                name="scores_run_background",
            ),
            models.Index(fields=["leased_until"], condition=models.Q(status="running"), name="scores_run_leased"),
            models.Index(fields=["wake_at"], condition=models.Q(status="sleeping"), name="scores_run_sleeping"),
            models.Index(fields=["completed_at"], condition=models.Q(panel_size__gt=1), name="scores_run_panels"),
            models.Index(fields=["wake_at"], condition=models.Q(status="waiting"), name="scores_run_waiting"),
            models.Index(
                fields=["reuses", "id"],
                condition=models.Q(status="waiting", waits_for="reuse"),
                name="scores_run_reusing",
            ),
            models.Index(
                fields=["grader", "wake_at"],
                condition=models.Q(status__in=("sleeping", "waiting"), wake_at__gt=LONG_AGO),
                name="scores_run_resting",
            ),
            models.Index(
                fields=["deadline_at"],
                condition=models.Q(status__in=("pending", "sleeping"), deadline_at__gt=LONG_AGO),
                name="scores_run_overdue",
            ),
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


class Pulse(models.Model):
    """The time at which a periodic job, such as the sweep, last finished; it shows which jobs have stalled."""

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} {self.at:%H:%M:%S}"
