"""Pages of members, roles, keys; below /settings/."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
