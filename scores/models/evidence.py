"""Evidence of the failed attempts of runs."""

from django.db import models
from django.utils import timezone

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.crypto.fields import EncryptedJSONField
from graders.models import Grader
from scores.models.runs import WorkflowRun


class AttemptEvidence(models.Model):
    """A failed attempt of a run, with what is known about its call. Only the newest few of a run are kept.

    organization  the completion's, whose key encrypts
    code          the attempt's failure code, as the grader's statistics count it
    content       the call and the run's own part of the answer (scores/engine/evidence.py); null: its text was erased
    """

    id = models.UUIDField(primary_key=True, default=ids.new, editable=False)
    organization = models.ForeignKey(
        Organization, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+"
    )
    run = models.ForeignKey(
        WorkflowRun, on_delete=models.CASCADE, db_index=False, db_constraint=False, related_name="evidence"
    )
    grader = models.ForeignKey(Grader, on_delete=models.PROTECT, db_index=False, db_constraint=False, related_name="+")
    attempt = models.PositiveIntegerField()
    code = models.CharField(max_length=64)
    content = EncryptedJSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "attempt"], name="scores_evidence_attempt")]
        indexes = [models.Index(fields=["grader", "code", "id"], name="scores_evidence_code")]  # ids follow time

    def __str__(self) -> str:
        return f"{self.run_id} attempt {self.attempt}: {self.code}"
