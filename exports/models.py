"""Models of export jobs and their files."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from autotune.access.models import ApiKey, Organization, User
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedTextField
from exports.querysets import ExportQuerySet
from exports.states import ExportStatus, FileKind


class Export(models.Model):
    """A job that writes training data to files, part by part; a worker that dies loses at most the part in progress.

    api_key       the key that requested it, if any: the job may do no more than that key
    reach         how widely it reads: own, organization or all. People who read less widely do not see it
    query         the request's body as it was checked: filters, format, layout
    expected      rows that were counted when it began; null before
    dimensions    the names that every row has, fixed when it began; null if rows have none
    rows          in the finished parts
    left_out      rows that it lacks: their text was erased or cannot be decrypted, or the layout cannot carry them
    left_out_by_reason  the same by reason, without erased rows (exports/reading/left_out.py)
    cursor        where the finished parts end, in the reader's own format; '' at the beginning
    leased_until  while `running`: when another worker may take it; `attempt` is the lease's token. While `pending`: not
                  before
    erasure_count  erasures so far that may affect it: a part during which this changed is checked again
    purged_to     the greatest id of completions deleted entirely: a part that starts below it is written again
    file_key      32 bytes in base64 that encrypt its files; null once they are deleted
    storage_id    the folder that holds its files; null in a bucket, and until the export starts
    storage_host  the machine that created that folder
    sha256        of the only file, or of the manifest, as downloaded
    metadata      of the dataset: exportedAt, taskIds, modelIds, totalRecords, leftOut, leftOutByReason,
                  systemPromptVersions, scoreDistribution
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(Organization, on_delete=models.PROTECT, db_index=False, related_name="+")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, db_index=False, related_name="+")
    api_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    reach = models.CharField(max_length=12, default="organization")
    query = models.JSONField()
    status = models.CharField(max_length=9, choices=ExportStatus.choices, default=ExportStatus.PENDING)
    expected = models.PositiveBigIntegerField(null=True, blank=True)
    dimensions = models.JSONField(null=True, blank=True)
    rows = models.PositiveBigIntegerField(default=0)
    left_out = models.PositiveBigIntegerField(default=0)
    left_out_by_reason = models.JSONField(default=dict)
    bytes = models.PositiveBigIntegerField(default=0)
    cursor = models.CharField(max_length=64, default="", blank=True)
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    erasure_count = models.PositiveBigIntegerField(default=0)
    purged_to = models.UUIDField(null=True, blank=True)
    file_key = EncryptedTextField(null=True)
    storage_id = models.UUIDField(null=True, blank=True)
    storage_host = models.CharField(max_length=64, default="", blank=True)
    sha256 = models.CharField(max_length=64, default="", blank=True)
    metadata = models.JSONField(null=True, blank=True)
    error_code = models.CharField(max_length=64, default="", blank=True)
    error_message = models.CharField(max_length=200, default="", blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ExportQuerySet] = ExportQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=ExportStatus.values), name="exports_export_status")
        ]
        indexes = [
            models.Index(fields=["organization", "id"], name="exports_export_by_org"),
            models.Index(
                fields=["id"], condition=models.Q(status__in=("pending", "running")), name="exports_export_open"
            ),
            models.Index(fields=["expires_at"], condition=models.Q(status="completed"), name="exports_export_expiring"),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return ids.encode("exp", self.pk)


class ExportFile(models.Model):
    """One file of an export, encrypted at rest; written once, in the transaction that moves the export's cursor.

    number      0, 1, … among the files of its kind
    name        of the download, such as `part-00000.jsonl.gz`
    stored_as   its name in the storage
    bytes, sha256     of what is downloaded
    first, last       the least and the greatest completion id in it; null if it has none
    values      the scores of its rows as float64, until the export is completed and its distribution known
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    export = models.ForeignKey(Export, on_delete=models.CASCADE, related_name="files", db_index=False)
    kind = models.CharField(max_length=8, choices=FileKind.choices, default=FileKind.DATA)
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=100)
    stored_as = models.CharField(max_length=200)
    rows = models.PositiveBigIntegerField(default=0)
    bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    first = models.UUIDField(null=True, blank=True)
    last = models.UUIDField(null=True, blank=True)
    facts = models.JSONField(null=True, blank=True)
    values = models.BinaryField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["export", "kind", "number"], name="exports_file_number")]

    def __str__(self) -> str:
        return self.name
