"""The states of an export."""

from django.db import models


class ExportStatus(models.TextChoices):
    """`withdrawn`: text in the export was erased, so its files were deleted. `expired`: its storage period ended."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


UNFINISHED = (ExportStatus.PENDING, ExportStatus.RUNNING)


class FileKind(models.TextChoices):
    """The kinds of an export's files: rows, the data set's metadata, or the list of the other files."""

    DATA = "data"
    METADATA = "metadata"
    MANIFEST = "manifest"
