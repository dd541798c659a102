"""The named questions about exports."""

from autotune.access.policy import ScopedQuerySet


class ExportQuerySet(ScopedQuerySet):
    resource = "exports"
