"""The kinds of event, and the states of endpoints and deliveries."""

from django.db import models


class EventKind(models.TextChoices):
    SCORE_COMPLETED = "score.completed"
    SCORE_FAILED = "score.failed"
    GRADER_STATUS_CHANGED = "grader.status_changed"
    REVIEW_REQUESTED = "review.requested"
    EXPORT_COMPLETED = "export.completed"
    TEST = "webhook.test"  # sent to one endpoint, on request; nobody subscribes to it


class WebhookStatus(models.TextChoices):
    """`disabled`: switched off by its owner, or after a 410 or five days of failures."""

    ACTIVE = "active"
    DISABLED = "disabled"


class DeliveryStatus(models.TextChoices):
    """`parked`: given up after three days, or the endpoint was disabled; it can be delivered again by hand."""

    PENDING = "pending"
    DELIVERED = "delivered"
    PARKED = "parked"
