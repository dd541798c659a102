"""Routes of this app below `/api/v1/`."""

from django.urls import URLPattern, path

from exports.api import ExportView

urlpatterns: list[URLPattern] = [path("scores/export", ExportView.as_view())]
