"""Routes of the audit log below `/api/v1/`."""

from django.urls import URLPattern, path

from autotune.access.audit import api

urlpatterns: list[URLPattern] = [
    path("audit-events", api.AuditEventsView.as_view()),
    path("audit-events/export", api.AuditExportView.as_view()),
    path("audit-events/<aud:event_id>", api.AuditEventView.as_view()),
]
