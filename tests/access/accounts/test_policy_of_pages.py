"""Every page comes with a Content-Security-Policy without `unsafe-inline`, and needs none."""

import re

import pytest
from django.contrib import admin
from django.urls import reverse

from tests.access.accounts.people import browser, logged_in, person, set_up

pytestmark = pytest.mark.django_db
OPEN = (
    "/", "/nowhere", "/api/v1/docs", "/account/login", "/account/join", "/account/inactive", "/account/password/sent",
    "/account/password/done", "/account/password/forgotten", "/account/password/reset/a-b", "/account/sso/cancelled",
    "/invitations/x", "/reviews/x",
)  # fmt: skip
INSIDE = (
    "/account", "/account/password", "/account/logout", "/account/confirm", "/account/confirm/code",
    "/account/recovery-codes", "/account/recovery-codes/new", "/account/second-factor/off", "/admin/", "/admin/password_change/",
)  # fmt: skip
INLINE = re.compile(
    r"<style|<script(?![^>]* src=)(?![^>]*application/json)[^>]*>|<[^>]+ style=|<[^>]+ on\w+=", re.IGNORECASE
)


def faults(client, path, *, statuses=(200, 403, 404)):
    answer = client.get(path, follow=True)
    problems = [f"{path}: {answer.status_code}"] if answer.status_code not in statuses else []
    policy = answer.headers.get("Content-Security-Policy", "")
    for directive in (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ):
        if directive not in policy:
            problems.append(f"{path}: lacks {directive}")
    problems += [
        f"{path}: allows {word}" for word in ("unsafe-inline", "unsafe-eval", "http:", "https:", "*") if word in policy
    ]
    for name in (
        "X-Content-Type-Options",
        "Referrer-Policy",
        "X-Frame-Options",
        "Permissions-Policy",
        "Cross-Origin-Resource-Policy",
    ):
        if name not in answer.headers:
            problems.append(f"{path}: lacks {name}")
    return problems + [f"{path}: holds {inline[:80]}" for inline in INLINE.findall(answer.content.decode())]


def test_pages_of_strangers():
    client = browser()
    assert [fault for path in OPEN for fault in faults(client, path)] == []


def test_pages_of_people():
    client = logged_in(person(is_staff=True, is_superuser=True))
    set_up(client)
    assert [fault for path in INSIDE for fault in faults(client, path)] == []


def test_every_list_and_form_of_the_admin_site():
    client = logged_in(person(is_staff=True, is_superuser=True))
    problems = []
    for model, page in admin.site._registry.items():
        stem = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        problems += faults(client, reverse(f"{stem}_changelist"))
        if page.has_add_permission(type("R", (), {"user": None})) if "Record" in str(type(page).__mro__) else True:
            problems += faults(client, reverse(f"{stem}_add"))
    assert problems == []


def test_api_responses_have_the_policy_too():
    for path in ("/api/v1/tasks", "/api/v1/nowhere", "/api/v1/health"):
        assert "default-src 'self'" in browser().get(path)["Content-Security-Policy"]
