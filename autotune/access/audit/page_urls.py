"""Routes of the audit log's pages, below /settings/audit."""

from django.urls import URLPattern, path

from autotune.access.audit import pages

urlpatterns: list[URLPattern] = [
    path("", pages.every, name="audit"),
    path("/<aud:event_id>", pages.show_event, name="audit_event"),
]
