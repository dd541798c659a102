"""The states of an export."""

from django.db import models


class ExportStatus(models.TextChoices):
    """`withdrawn`: a text in it was erased since, and its files are gone. `expired`: so are they, after their time."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


UNFINISHED = (ExportStatus.PENDING, ExportStatus.RUNNING)


class FileKind(models.TextChoices):
    """What a file of an export is: rows, the dataset's metadata, or the list of the others."""

    DATA = "data"
    METADATA = "metadata"
    MANIFEST = "manifest"
