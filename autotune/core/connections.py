"""The database connection of a thread, given back to the pool while the thread waits for something else."""

from django.db import connection


def release() -> None:
    """Give the connection back before a long wait: for a client, a grader, a score. Not inside a transaction."""
    if not connection.in_atomic_block:
        connection.close()
