"""Routes of the pages of workflow runs."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
