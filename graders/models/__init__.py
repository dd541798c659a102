"""Models of graders, their secrets, versions, history and counters."""

from graders.models.counters import NO_VERSION, GraderCounters, GraderHour, GraderStatistic, Tally
from graders.models.graders import Grader, GraderGuard, GraderSecret, GraderVersion
from graders.models.history import GraderCheck, GraderStatusChange

__all__ = [
    "NO_VERSION",
    "Grader",
    "GraderCheck",
    "GraderCounters",
    "GraderGuard",
    "GraderHour",
    "GraderSecret",
    "GraderStatistic",
    "GraderStatusChange",
    "GraderVersion",
    "Tally",
]  # fmt: skip
