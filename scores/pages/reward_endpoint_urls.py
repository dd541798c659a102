"""Routes of the pages of reward endpoints."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
