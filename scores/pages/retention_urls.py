"""Routes of the pages of retention, holds and erasures; below /settings/retention."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
