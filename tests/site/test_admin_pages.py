"""Every list and form of the admin site, with 50 rows of each model: few queries, and no secret in the HTML."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from autotune.access.models import ApiKey, AuditEvent, SecondFactorSecret, User, WebSession
from tests.site.admin.world import MODELS, PROMPT, address, populate, stored_secrets

ROWS = 50
MOST_QUERIES = 15
NEVER_SHOWN = {SecondFactorSecret}  # there is nothing to see of it but the secret
ENDED_HERE = {WebSession}  # none is made or changed there, but any can be ended
OURS = ("core", "access", "webhooks", "graders", "tasks", "scores", "exports")
PASSWORD = "a-password-that-nobody-sees"


@pytest.fixture
def client_of(db):
    def login(user):
        client = Client()
        client.force_login(user)
        return client

    return login


@pytest.fixture
def world(db, keys_at_hand):
    """ROWS rows of every model, and what must not be seen of them."""
    hidden = {"the password": PASSWORD, **populate(ROWS)}
    keys_at_hand()
    person = User.objects.create_user("boss@example.org", PASSWORD, is_staff=True, is_superuser=True)
    return person, {**hidden, "a password's hash": person.password, **stored_secrets()}


def faults(client, path, hidden, *, most=MOST_QUERIES):
    """What is wrong with a page, in words."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = client.get(path)
    html = answer.content.decode()
    problems = [f"{path}: status {answer.status_code}"] if answer.status_code != 200 else []
    if len(queries) > most:
        problems.append(f"{path}: {len(queries)} queries\n  " + "\n  ".join(q["sql"][:150] for q in queries))
    problems += [f"{path}: shows {name}" for name, text in hidden.items() if text in html]
    return problems + [f"{path}: shows bytes" for sign in ("Ciphertext(", "&lt;memory at", "b&#x27;") if sign in html]


def test_every_model_of_ours_has_a_page_with_columns_a_search_and_filters():
    lacking = []
    for model in {model for app in OURS for model in apps.get_app_config(app).get_models()} - NEVER_SHOWN:
        page = admin.site._registry.get(model)
        if page is None:
            lacking.append(f"{model._meta.label}: not registered")
        elif tuple(page.list_display) == ("__str__",) or not page.search_fields or not page.list_filter:
            lacking.append(f"{model._meta.label}: lacks columns, a search or filters")
    assert lacking == []


def test_every_list_opens_with_50_rows_in_few_queries_and_shows_no_secret(world, client_of):
    person, hidden = world
    client, problems = client_of(person), []
    for model in MODELS:
        assert model._base_manager.count() >= ROWS, model._meta.label
        problems += faults(client, address(model, "changelist"), {**hidden, "a prompt": PROMPT})
    assert problems == []


def test_every_form_opens_in_few_queries_and_shows_no_secret(world, client_of):
    person, hidden = world
    client, problems = client_of(person), []
    for model in MODELS:
        problems += faults(client, address(model, "change", model._base_manager.order_by("pk").last().pk), hidden)
    assert problems == []


def test_every_list_can_be_searched_for_anything(world, client_of):
    person, _ = world
    client, problems = client_of(person), []
    for model in MODELS:
        for text in ("grader", "1", "grader_01jd0000000000000000000000", "%'\"", "é"):
            answer = client.get(address(model, "changelist"), {"q": text})
            if answer.status_code != 200:
                problems.append(f"{model._meta.label} {text!r}: {answer.status_code}")
    assert problems == []


def test_every_filter_of_ours_can_be_chosen(world, client_of):
    person, _ = world
    client, problems = client_of(person), []
    for model in MODELS:
        if model._meta.app_label in OURS:
            page = client.get(address(model, "changelist"))
            for spec in page.context["cl"].filter_specs:
                for choice in list(spec.choices(page.context["cl"]))[1:3]:
                    answer = client.get(address(model, "changelist") + choice["query_string"])
                    if answer.status_code != 200:
                        problems.append(f"{model._meta.label} {choice}: {answer.status_code}")
    assert problems == []


def test_records_cannot_be_added_or_deleted(world, client_of):
    person, _ = world
    client, problems = client_of(person), []
    client.post(address(ApiKey, "add"))  # the first refusal makes the data key that the trail's texts are under
    for model in [model for model in MODELS if model not in ENDED_HERE]:
        page = admin.site._registry[model]
        if model._meta.app_label in OURS and not page.has_change_permission(type("R", (), {"user": person})):
            row = model._base_manager.order_by("pk").last()
            before = model._base_manager.count()
            attempts = (address(model, "add"), address(model, "delete", row.pk))
            for path in attempts:
                problems += [path] if client.post(path, {"post": "yes"}).status_code != 403 else []
            traces = len(attempts) if model is AuditEvent else 0  # each refusal is on the trail
            assert model._base_manager.count() == before + traces
    assert problems == []


def test_nobody_but_staff_opens_the_admin_site(client_of, db):
    user = User.objects.create_user("someone@example.org", PASSWORD)
    assert client_of(user).get(address(ApiKey, "changelist")).status_code == 302
    assert Client().get(address(ApiKey, "changelist")).status_code == 302
