"""Load the results of the last health checks of many graders, for a strip chart."""

import operator
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Final
from uuid import UUID

from django.db.models import OuterRef, Q, Subquery

from graders.health import checks
from graders.models import Grader, GraderCheck

LAST: Final = 24  # two hours, because a grader in service is checked every five minutes


@dataclass(frozen=True, slots=True)
class HealthMark:
    """The result of one health check."""

    passed: bool
    at: datetime


def recent(grader_ids: Collection[UUID]) -> dict[UUID, list[HealthMark]]:
    """Return the last health checks of each grader, at most LAST, oldest first, in two queries for all."""
    results_by_grader: dict[UUID, list[HealthMark]] = {pk: [] for pk in grader_ids}
    if not results_by_grader:
        return results_by_grader
    health_checks = GraderCheck.objects.filter(name=checks.HEALTH)
    # The first query finds where each grader's part of the index begins, because thousands of its checks are kept.
    newest = health_checks.newest_of(OuterRef("pk")).values("pk")
    pieces = Grader.objects.filter(pk__in=results_by_grader).values_list("pk", Subquery(newest[LAST - 1 : LAST]))
    newest_checks = reduce(operator.or_, [Q(grader=pk, pk__gte=first or 0) for pk, first in pieces], Q(pk__in=[]))
    for pk, passed, checked_at in (
        health_checks.filter(newest_checks).order_by("pk").values_list("grader_id", "passed", "at")
    ):
        results_by_grader[pk].append(HealthMark(passed, checked_at))
    return results_by_grader
