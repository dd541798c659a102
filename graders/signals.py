"""What higher apps are asked. Receivers run inside the sender's transaction."""

from django.dispatch import Signal

grader_retiring = Signal()
"""A grader is about to become a tombstone; its row is locked. Sent with `grader`.

A receiver that knows of something which still names the grader raises `Conflict(code="in_use")`.
"""

grader_audience = Signal()
"""A grader's status changed: whom does it concern? Sent with `grader_id`.

A receiver returns the ids of organizations, beside the owner's, that are told.
"""

grader_queues = Signal()
"""What waits for graders? Sent with `grader_ids`, those whose owners are asking.

A receiver returns {grader_id: graders.queues.Queue}; one that has nothing waiting may be left out.
"""
