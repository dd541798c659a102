"""Models of tasks, their versions and panels, and the completions that graders judge."""

from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedJSONField, EncryptedTextField
from graders.models import Grader
from tasks.conversations import form_of
from tasks.querysets import READER_ROWS, CompletionQuerySet, TaskQuerySet, TaskVersionQuerySet
from tasks.states import Aggregation, CompletionSource, ConversationShape, PanelPart, Priority, TaskKind


class Task(models.Model):
    """What a model is asked. Its versions hold what defines it; the settings (retry, deadline, options) are here.

    kind        only a deck may have no graders; its completions then stay ungraded
    text_days   days for which prompts and responses are kept; null: as long as the organization keeps them
    erased_to   id of a completion: retention has erased all text up to it, except what a legal hold keeps
    use_calibration  rewards use a score's calibrated value, if it has one
    share_text  owners of the task's graders may read prompts and responses
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=4, choices=TaskKind.choices, default=TaskKind.TASK, db_default=TaskKind.TASK)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    version = models.ForeignKey("TaskVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    model_name = models.CharField(max_length=200, blank=True)
    metadata = EncryptedJSONField(default=dict, blank=True)
    max_attempts = models.PositiveSmallIntegerField(default=5)
    backoff_ms = models.PositiveIntegerField(default=500)
    max_backoff_ms = models.PositiveIntegerField(default=30_000)
    deadline_ms = models.PositiveBigIntegerField(default=86_400_000)
    review_below_confidence = models.FloatField(null=True, blank=True)
    review_blind = models.BooleanField(default=False, db_default=False)
    include_dimensions = models.BooleanField(default=True)
    include_explanation = models.BooleanField(default=True)
    use_calibration = models.BooleanField(default=False, db_default=False)
    text_days = models.PositiveIntegerField(null=True, blank=True)
    erased_to = models.UUIDField(null=True, blank=True, editable=False)
    share_text = models.BooleanField(default=False)
    archived = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects: ClassVar[TaskQuerySet] = TaskQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organization", "name"], name="tasks_task_name"),
            models.CheckConstraint(condition=models.Q(kind__in=TaskKind.values), name="tasks_task_kind"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def public_id(self) -> str:
        return ids.encode("task", self.pk)


class TaskVersion(models.Model):
    """A content-addressed snapshot of what defines a task: equal content is one version. Completions refer to it.

    digest      HMAC-SHA256 of `content` in canonical JSON, with the panel, under the organization's digest key
    content     {systemPrompt, promptTemplate, responseSchema, model}, encrypted
    created_by  who created it first; null if that was not recorded
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.CASCADE, db_index=False, related_name="versions")
    created_by = models.ForeignKey(
        User, null=True, blank=True, on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    digest = models.CharField(max_length=64)
    content = EncryptedJSONField()
    aggregation = models.CharField(max_length=20, choices=Aggregation.choices, default=Aggregation.MEAN)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[TaskVersionQuerySet] = TaskVersionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "digest"], name="tasks_version_digest"),
            models.CheckConstraint(
                condition=models.Q(aggregation__in=Aggregation.values), name="tasks_version_aggregation"
            ),
        ]

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def public_id(self) -> str:
        return ids.encode("taskv", self.pk)


class PanelMember(models.Model):
    """A grader of a task version, with its weight and part."""

    id = models.BigAutoField(primary_key=True)
    task_version = models.ForeignKey(TaskVersion, on_delete=models.CASCADE, db_index=False, related_name="members")
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, related_name="+")
    weight = models.FloatField(default=1.0)
    part = models.CharField(max_length=7, choices=PanelPart.choices, default=PanelPart.SCORING)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["task_version", "grader"], name="tasks_panel_grader"),
            models.CheckConstraint(condition=models.Q(part__in=PanelPart.values), name="tasks_panel_part"),
            models.CheckConstraint(condition=models.Q(weight__gte=0, weight__lte=1), name="tasks_panel_weight"),
        ]

    def __str__(self) -> str:
        return f"{self.grader_id} ({self.part})"


class Completion(models.Model):
    """One answer of one model to one prompt. Rows are written by COPY, without defaults (scores/intake/submission.py).

    content_digest  HMAC-SHA256 of model, prompt or messages, response and metadata; only if there is an external id
    prompt_digest   the first 16 bytes of the HMAC of the conversation (tasks/digests.py)
    answer_digest   the same of conversation and response. Both are null for rows older than digests, until the
                    background job adds them (tasks/filling.py), and once the text is erased
    form            the form that carries the whole conversation (tasks/conversations.py), so that rows can be selected
                    and counted without decryption; null for rows older than forms, until the background job adds it
    variables       the values that filled the prompt template; null if the request had the prompt itself
    source          how Autotune received it; scores and rewards have a copy, and it never changes
    held_out        never to be trained on; like `source`, it is copied and never changes
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    task = models.ForeignKey(Task, on_delete=models.PROTECT, db_index=False, related_name="completions")
    task_version = models.ForeignKey(TaskVersion, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    created_by = models.ForeignKey(
        User, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    model_id = models.CharField(max_length=200)
    external_id = models.CharField(max_length=255, null=True, blank=True)  # null means that there is none
    content_digest = models.BinaryField(max_length=32, null=True)
    prompt_digest = models.BinaryField(max_length=16, null=True)
    answer_digest = models.BinaryField(max_length=16, null=True)
    prompt = EncryptedTextField(null=True)
    response = EncryptedTextField(null=True)
    messages = EncryptedJSONField(null=True)
    metadata = EncryptedJSONField(null=True)
    variables = EncryptedJSONField(null=True)
    form = models.CharField(max_length=6, choices=ConversationShape.choices, null=True, editable=False)
    priority = models.SmallIntegerField(choices=Priority.choices, default=Priority.NORMAL)
    source = models.CharField(max_length=10, choices=CompletionSource.choices, default=CompletionSource.API)
    held_out = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    erased_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[CompletionQuerySet] = CompletionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "external_id"],
                condition=models.Q(external_id__isnull=False),
                name="tasks_completion_external_id",
            ),
            models.CheckConstraint(
                condition=models.Q(source__in=CompletionSource.values), name="tasks_completion_source"
            ),
            models.CheckConstraint(condition=models.Q(priority__in=Priority.values), name="tasks_completion_priority"),
            models.CheckConstraint(condition=models.Q(form__in=ConversationShape.values), name="tasks_completion_form"),
        ]
        indexes = [
            models.Index(fields=["organization", "id"], name="tasks_completion_by_org"),
            models.Index(fields=["task", "id"], name="tasks_completion_by_task"),
            models.Index(
                fields=["organization", "id"],
                condition=models.Q(source=CompletionSource.EVALUATION),
                name="tasks_completion_evaluated",
            ),
            models.Index(
                fields=["task", "prompt_digest"],
                include=["answer_digest", "id", "form", "source"],
                condition=READER_ROWS,
                name="tasks_completion_by_prompt",
            ),  # it covers all columns that pairs need, except the rewards
            models.Index(
                fields=["id"],
                condition=models.Q(models.Q(prompt_digest=None) | models.Q(form=None), erased_at=None),
                name="tasks_completion_undigested",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("comp", self.pk)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Set the form of a row that is saved singly; intake sets it for bulk rows."""
        if self.form is None and self._state.adding and self.prompt is not None:
            self.form = form_of(self.messages)
        super().save(*args, **kwargs)
