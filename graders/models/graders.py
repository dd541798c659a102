"""Models of graders, their secrets, versions and guards."""

from sys import float_info
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField
from graders.querysets import GraderPartQuerySet, GraderQuerySet
from graders.scales import Scale
from graders.states import GraderKind, GraderStatus, Visibility


def _choices(name: str, kind: type[models.TextChoices], field: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=models.Q(**{f"{field}__in": kind.values}), name=name)


class Grader(models.Model):
    """An HTTP service that judges completions. Deleting it leaves a tombstone, because its scores still name it.

    version        the version that it reports now; scores are stored with it
    avg_latency_ms the latency that its owner declared; measured latencies are in the statistics
    auth_failures  answers 401 or 403 in a row; three make it degraded
    gone_at        when it answered a signed 410; its runs fail until it is verified again
    switched_off   True if its owner switched it off; only the owner switches it on again
    redact_…       whether only its own organization reads its reasoning, its dimensions
    pins           SHA-256 of public keys (SPKI) in base64, one of which its certificate must have
    troubles       why it is degraded (graders.states.Trouble); it is active again when the last one ends
    held_until     no call is sent before: rate limit, Retry-After, open circuit, or it reports that it is unhealthy
    health         the result of the last health check (graders.states.HealthStatus); '' before the first
    health_repeats how many health checks in a row had this result
    checked_at     when a process last claimed the grader for a health check
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    kind = models.CharField(max_length=8, choices=GraderKind.choices, default=GraderKind.ENDPOINT)
    endpoint = models.CharField(max_length=2048, blank=True)
    status = models.CharField(max_length=8, choices=GraderStatus.choices, default=GraderStatus.INACTIVE)
    visibility = models.CharField(max_length=7, choices=Visibility.choices, default=Visibility.PRIVATE)
    version = models.ForeignKey("GraderVersion", null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    max_batch_size = models.PositiveSmallIntegerField(default=1)
    supports_dimensions = models.BooleanField(default=False)
    supports_explanations = models.BooleanField(default=False)
    supports_async = models.BooleanField(default=False)
    avg_latency_ms = models.PositiveIntegerField(default=1000)
    domains = models.JSONField(default=list, blank=True)

    rate_per_minute = models.PositiveIntegerField(null=True, blank=True)
    max_concurrency = models.PositiveSmallIntegerField(default=16)
    timeout_ms = models.PositiveIntegerField(default=4_000)
    batch_timeout_ms = models.PositiveIntegerField(default=30_000)

    pins = models.JSONField(default=list, blank=True)
    redact_reasoning = models.BooleanField(default=False, db_default=False)
    redact_dimensions = models.BooleanField(default=False, db_default=False)

    switched_off = models.BooleanField(default=False)
    troubles = models.JSONField(default=list, blank=True)
    held_until = models.DateTimeField(null=True, blank=True)
    held_reason = models.CharField(max_length=32, blank=True)
    health = models.CharField(max_length=16, blank=True)
    health_repeats = models.PositiveSmallIntegerField(default=0)
    checked_at = models.DateTimeField(null=True, blank=True)
    auth_failures = models.PositiveSmallIntegerField(default=0)
    verified_at = models.DateTimeField(null=True, blank=True)
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects: ClassVar[GraderQuerySet] = GraderQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organization", "name"], condition=models.Q(deleted_at=None), name="graders_grader_name"
            ),
            _choices("graders_grader_status", GraderStatus, "status"),
            _choices("graders_grader_kind", GraderKind, "kind"),
            _choices("graders_grader_visibility", Visibility, "visibility"),
        ]
        indexes = [models.Index(fields=["visibility"], condition=models.Q(visibility="listed"), name="graders_listed")]

    def __str__(self) -> str:
        return self.name

    @property
    def public_id(self) -> str:
        return ids.encode("grader", self.pk)


class GraderGuard(models.Model):
    """The state that all workers share about calling a grader, if Redis does not hold it (graders/guards)."""

    grader = models.OneToOneField(Grader, primary_key=True, on_delete=models.CASCADE, related_name="guard")
    state = models.JSONField(default=dict)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"guard of {self.grader_id}"


class GraderSecret(models.Model):
    """A grader's shared secret. One is current; after a rotation the previous one is valid until `valid_until`.

    confirmed  an answer verified with it: the grader knows it, so the platform signs with it
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, related_name="secrets")
    secret = EncryptedTextField()
    current = models.BooleanField(default=True)
    confirmed = models.BooleanField(default=False)
    valid_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["grader"], condition=models.Q(current=True), name="graders_one_current_secret"
            )
        ]

    def __str__(self) -> str:
        return self.key_id

    @property
    def key_id(self) -> str:
        """The public id that requests carry as `X-Autotune-Key-Id`."""
        return ids.encode("gkey", self.pk)


class GraderVersion(models.Model):
    """A version that a grader reported of itself; each score names the version that judged.

    scale_min, scale_max  the range of its raw values, which never changes: another scale is another version
                          (graders/scales.py)
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, related_name="versions")
    label = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, blank=True)
    scale_min = models.FloatField(default=0.0, db_default=0.0)
    scale_max = models.FloatField(default=1.0, db_default=1.0)
    first_seen_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[GraderPartQuerySet] = GraderPartQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grader", "label"], name="graders_version_label"),
            models.CheckConstraint(
                condition=models.Q(
                    scale_min__lt=models.F("scale_max"), scale_min__gte=-float_info.max, scale_max__lte=float_info.max
                ),
                name="graders_version_scale",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def public_id(self) -> str:
        return ids.encode("graderv", self.pk)

    @property
    def scale(self) -> Scale:
        """The scale of the raw values; raises ScaleError for impossible ends."""
        return Scale(self.scale_min, self.scale_max)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Check the scale of a new version, for a clearer error than the constraint's; raises ScaleError."""
        if self._state.adding:
            self.scale  # noqa: B018 - raises
        super().save(*args, **kwargs)
