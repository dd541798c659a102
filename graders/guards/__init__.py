"""Protect a grader from too many calls, across all workers: concurrency, rate, circuit and batch size.

Each protection is a pure rule over one small value (state.py), which a home stores and changes as a whole (homes.py).
No rule costs a round trip for every call.
"""

from graders.guards.guard import Guard
from graders.guards.values import CallReport, Permit

__all__ = ["CallReport", "Guard", "Permit"]
