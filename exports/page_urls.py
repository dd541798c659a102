"""Pages of exports, preference pairs."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
