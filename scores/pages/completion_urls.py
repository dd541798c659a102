"""Routes of the pages of completions and scores."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
