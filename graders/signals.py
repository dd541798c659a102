"""Signals through which graders ask higher apps. Receivers run inside the sender's transaction."""

from django.dispatch import Signal

grader_retiring = Signal()
"""A grader is about to become a tombstone; its row is locked. Sent with `grader`.

A receiver raises `Conflict(code="in_use")` if something of its app still names the grader.
"""

grader_audience = Signal()
"""A grader's status changed. Sent with `grader_id`.

A receiver returns the ids of further organizations that receive the event, besides the owner's.
"""

grader_queues = Signal()
"""Somebody reads the queues of their graders. Sent with `grader_ids`.

A receiver returns {grader_id: graders.queued_runs.QueuedRuns}; it may omit graders for which nothing waits.
"""

grader_error_texts = Signal()
"""Somebody reads the failures of a grader. Sent with `principal`, `grader_id` and `codes`.

A receiver returns {code: the grader's own error text}, of the newest attempt that the principal may read.
"""
