"""Models of graders, their secrets, versions, history and counters."""

from graders.models.counters import NO_VERSION, Counted, GraderHour, GraderStatistic, Tally
from graders.models.graders import Grader, GraderGuard, GraderSecret, GraderVersion
from graders.models.history import GraderCheck, GraderStatusChange

__all__ = [
    "NO_VERSION", "Counted", "Grader", "GraderCheck", "GraderGuard", "GraderHour", "GraderSecret", "GraderStatistic",
    "GraderStatusChange", "GraderVersion", "Tally",
]  # fmt: skip
