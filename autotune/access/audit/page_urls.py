"""Pages of the audit trail; below /settings/audit."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
