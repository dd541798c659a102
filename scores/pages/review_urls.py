"""Routes of the pages of reviews."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
