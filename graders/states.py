"""The states of a grader and the kinds of check."""

from django.db import models


class GraderKind(models.TextChoices):
    ENDPOINT = "endpoint"
    RUBRIC = "rubric"


class GraderStatus(models.TextChoices):
    """`inactive`: unverified, switched off, or answered a signed 410. `degraded`: work is still accepted."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    DEGRADED = "degraded"


class Trouble(models.TextChoices):
    """Why a grader is degraded; each ends by itself."""

    HEALTH = "health"
    CIRCUIT = "circuit"
    AUTH = "auth"
    VERIFICATION = "verification"
    VERSIONS = "versions"
    SECRET = "secret"  # noqa: S105 - its shared secret cannot be decrypted


class HealthStatus(models.TextChoices):
    """The result of a health check. `unreachable`: no answer with a valid signature."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"
    UNREACHABLE = "unreachable"


class Visibility(models.TextChoices):
    PRIVATE = "private"
    LISTED = "listed"
