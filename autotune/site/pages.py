"""The home page: says where things are, and nothing about anybody's data."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "site/home.html", {"public_url": settings.PUBLIC_URL})
