"""Pages of webhooks; below /settings/webhooks."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
