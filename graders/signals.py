"""What higher apps may object to. Receivers run inside the sender's transaction and refuse by raising a typed error."""

from django.dispatch import Signal

grader_retiring = Signal()
"""A grader is about to become a tombstone; its row is locked. Sent with `grader`.

A receiver that knows of something which still names the grader raises `Conflict(code="in_use")`.
"""
