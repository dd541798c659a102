"""Preview a retry by filter: count the runs that it would retry, and those that it would skip."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from scores.models import WorkflowRun
from scores.querysets import WorkflowRunQuerySet
from scores.states import RunStatus
from scores.workflow_runs import retrying
from scores.workflow_runs.queue_counts import CappedCount, counted

CHECK_LIMIT: Final = 300  # the oldest ones: as many as one transaction of a retry takes


@dataclass(slots=True)
class RetryPreview:
    """How many failed runs there are, and how many of the first `checked` can be retried.

    refused  codes of retrying.REFUSALS, among those that were checked
    """

    failed: CappedCount
    checked: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def possible(self) -> int:
        return self.checked - self.refused.total()

    @property
    def whole(self) -> bool:
        """Whether all of them were checked."""
        return not self.failed.more and self.failed.number <= self.checked


def preview(runs: WorkflowRunQuerySet) -> RetryPreview:
    """Preview what `retrying.retry_all` would do with the failed runs of a queryset."""
    failed = runs.filter(status=RunStatus.FAILED)
    first: list[WorkflowRun] = list(failed.order_by("pk").defer("error_message", "steps")[:CHECK_LIMIT])
    refused = Counter(retrying.refused(first).values())
    return RetryPreview(counted(failed), len(first), refused)
