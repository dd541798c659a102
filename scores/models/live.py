"""Models of live rewards: the endpoints that trainers call, and the completions that identical requests share."""

from typing import ClassVar
from uuid import UUID

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from scores.querysets import RewardEndpointQuerySet
from scores.states import RewardProtocol, TextlessPolicy, UnscoredPolicy
from tasks.models import Completion, Task, TaskVersion


class LiveAnswer(models.Model):
    """The completion that all live requests of the same task version, model and content share.

    The unique constraints decide between concurrent requests: of one model, one stores the completion and the others
    join it; of several models, one has it judged and the others wait for a copy.

    answer_digest  32 bytes of HMAC over what graders see: prompt or messages, response, metadata
    replaces       for a completion that graders judge: the newest such completion before it, of any model, or NOTHING
                   for the first; a new id if it competes with no other (`fresh`). Null for a completion that waits for
                   a copy, or has one
    """

    NOTHING: ClassVar = UUID(int=0)

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False)
    task_version = models.ForeignKey(
        TaskVersion, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="+"
    )
    model_id = models.CharField(max_length=200)
    answer_digest = models.BinaryField(max_length=32)
    completion = models.ForeignKey(Completion, on_delete=models.CASCADE, db_constraint=False, related_name="+")
    replaces = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task_version", "answer_digest", "model_id"], name="scores_live_answer"),
            models.UniqueConstraint(
                fields=["task_version", "answer_digest", "replaces"],
                condition=models.Q(replaces__isnull=False),
                name="scores_live_judged",
            ),
        ]

    def __str__(self) -> str:
        return f"live answer of {self.completion_id}"


class RewardEndpoint(models.Model):
    """An address that a trainer calls for rewards of one task, with the token in its path as the only credential.

    token_digest   SHA-256 of the token, which is shown once
    model_id       model name of the completions that arrive at this address
    unscored       what to return for an item without a score; `neutral_value` is the number if one is required
    without_text   how to treat an answer that has no text
    deadline_ms    time limit of one call; it must be below the client's own
    answered, unscored_count  number of items so far; each process adds its own every few seconds
    without_text_count        number of items that were not judged because they had no text
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, db_index=False, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="+")
    protocol = models.CharField(max_length=8, choices=RewardProtocol.choices)
    model_id = models.CharField(max_length=200)
    unscored = models.CharField(max_length=7, choices=UnscoredPolicy.choices)
    neutral_value = models.FloatField(null=True, blank=True)
    without_text = models.CharField(
        max_length=8,
        choices=TextlessPolicy.choices,
        default=TextlessPolicy.UNSCORED,
        db_default=TextlessPolicy.UNSCORED.value,
    )
    deadline_ms = models.PositiveIntegerField()
    token_digest = models.BinaryField(max_length=32, unique=True)
    enabled = models.BooleanField(default=True)
    answered = models.PositiveBigIntegerField(default=0)
    unscored_count = models.PositiveBigIntegerField(default=0)
    without_text_count = models.PositiveBigIntegerField(default=0, db_default=0)
    last_used_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(auto_now=True)

    objects: ClassVar[RewardEndpointQuerySet] = RewardEndpointQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(protocol__in=RewardProtocol.values), name="scores_endpoint_protocol"
            ),
            models.CheckConstraint(
                condition=models.Q(unscored__in=UnscoredPolicy.values), name="scores_endpoint_unscored"
            ),
            models.CheckConstraint(
                condition=models.Q(without_text__in=TextlessPolicy.values), name="scores_endpoint_without_text"
            ),
        ]
        indexes = [models.Index(fields=["organization", "id"], name="scores_endpoint_by_org")]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("rwd", self.pk)
