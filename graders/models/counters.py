"""Models of the counters of grader versions: tallies of saved groups, and their sums over five minutes and hours."""

from uuid import UUID

from django.db import models
from django.utils import timezone

from graders.models.graders import Grader

NO_VERSION = UUID(int=0)  # before the grader reported a version


class GraderCounters(models.Model):
    """Counters of the scores, latencies and errors of a grader version.

    errors     {code: count}, one for each attempt on a completion that ended with the code
    latencies  {bucket: count} of calls by completion; see graders/statistics/latencies.py for the buckets
    histogram  10 counts of scores, bins of 0.1, the last closed
    """

    version_id = models.UUIDField(default=NO_VERSION)
    scored = models.PositiveIntegerField(default=0)
    value_sum = models.FloatField(default=0.0)
    histogram = models.JSONField(default=list)
    latency_sum_ms = models.FloatField(default=0.0)
    latencies = models.JSONField(default=dict)
    errors = models.JSONField(default=dict)

    class Meta:
        abstract = True


class Tally(GraderCounters):
    """Counters of one saved group of results, written in the transaction of the save.

    Rows are only appended, so no transaction waits for another. A job folds them into GraderStatistic and GraderHour;
    readers add the tallies to either.
    """

    id = models.BigAutoField(primary_key=True)
    grader_id = models.UUIDField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.grader_id} {self.at:%H:%M:%S}"


class GraderStatistic(GraderCounters):
    """Counters of one grader version over five minutes; over a whole day where it is older than folding.FINE_FOR."""

    id = models.BigAutoField(primary_key=True)
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, db_index=False, related_name="statistics")
    start = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grader", "start", "version_id"], name="graders_statistic")]

    def __str__(self) -> str:
        return f"{self.grader_id} {self.start:%Y-%m-%d %H:%M}"


class GraderHour(GraderCounters):
    """Counters of one grader version over an hour: the sums of the hour's GraderStatistic rows.

    The code that writes those rows also writes these. A day that has one row there has the same row here.
    """

    id = models.BigAutoField(primary_key=True)
    grader = models.ForeignKey(Grader, on_delete=models.CASCADE, db_index=False, related_name="hours")
    start = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grader", "start", "version_id"], name="graders_hour")]

    def __str__(self) -> str:
        return f"{self.grader_id} {self.start:%Y-%m-%d %H:00}"
