"""Pages of graders."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
