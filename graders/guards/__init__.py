"""The protections of one grader, shared by all workers: concurrency, rate, circuit, size of its batches.

Each is a pure rule over one small value (state.py), which a home keeps and changes as a whole (homes.py). Nothing here
costs a round trip for a single call.
"""

from graders.guards.guard import Guard
from graders.guards.values import Answered, Permit

__all__ = ["Answered", "Guard", "Permit"]
