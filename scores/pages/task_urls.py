"""Routes of the pages of a task with its scores."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
