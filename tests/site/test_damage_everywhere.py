"""Every encrypted value is damaged: every page, route and admin page still answers, and lists what is missing."""

import logging
import re

import pytest
from django.contrib import admin
from django.test import Client

from autotune.access.models import Membership, User
from autotune.core.models import DamagedValue
from tests.access.matrix import BODIES, outcome, routes
from tests.factories import OrganizationFactory
from tests.support.damaging import columns, damage_everything, filled_world, restart
from tools.page_routes import readable

pytestmark = pytest.mark.django_db
NOTED = "autotune.core.crypto.damage"  # names each damaged value once
WHOLE_TEXTS = {"/completions/:comp/text/:str"}  # a text as a file has nothing else to show
CALLS_OUT = {"/rewards/:str/:str", "/callbacks/:str", "/downloads/:str"}  # by a token, not an id


def body(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.fixture
def world():
    organization = OrganizationFactory(operating=True)
    me = filled_world(organization)
    damaged = damage_everything()
    assert [name for name, count in damaged.items() if not count] == [], "give the new column a value in filled_world"
    restart()
    return me


def errors(caplog):
    """Errors that nothing handled: each ERROR line except the reports of damaged values."""
    return [
        record.getMessage()[:300] + str(record.exc_info and record.exc_info[1])
        for record in caplog.records
        if record.levelno >= logging.ERROR and record.name != NOTED
    ]


def test_introspection_finds_the_encrypted_columns():
    assert {"tasks.Completion.prompt", "webhooks.Webhook.url", "graders.GraderSecret.secret"} <= columns().keys()
    assert len(columns()) > 20


def test_c31_every_page_shows_the_readable_data(world, caplog):
    person = next(member.user for member in Membership.objects.all() if member.public_id == world.ids["member"])
    client = Client(raise_request_exception=False)
    client.force_login(person)
    failed = {}
    for page in readable():
        answer = client.get(page.address(world.ids))
        refused = getattr(answer, "problem_code", "") == "unreadable" or b"Stored value cannot be read" in body(answer)
        if answer.status_code >= 500 or errors(caplog) or (refused and page.path not in WHOLE_TEXTS):
            failed[page.path] = (answer.status_code, errors(caplog))
        caplog.clear()
    assert failed == {}


@pytest.mark.parametrize("reads", [True, False], ids=["reading", "writing"])
def test_c31_every_route_answers(world, caplog, reads):
    failed = {}
    for method, route, _ in routes():
        if route in CALLS_OUT or (method == "GET") is not reads:
            continue
        path = re.sub(r":(\w+)", lambda match: world.ids[match[1]], route)
        _, text = outcome(world.api, method, path, BODIES.get(f"{method} {route}"))
        refused = reads and '"code":"unreadable"' in text  # a route that only reads must show the rest
        if world.api.last.status_code >= 500 or errors(caplog) or refused:
            failed[method, route] = (world.api.last.status_code, errors(caplog))
        caplog.clear()
    assert failed == {}


def test_c31_every_admin_page_of_a_damaged_model_answers(world, caplog):
    boss = User.objects.create_user("boss@example.org", "a password", is_staff=True, is_superuser=True)
    client = Client(raise_request_exception=False)
    client.force_login(boss)
    failed = {}
    for model in {field.model for field in columns().values()} & admin.site._registry.keys():
        place = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        first = model._base_manager.order_by("pk").first()
        for path in (place, f"{place}{first.pk}/change/"):
            status = client.get(path).status_code
            if status != 200 or errors(caplog):
                failed[path] = (status, errors(caplog))
            caplog.clear()
    assert failed == {}


def test_c31_the_metric_counts_by_table_and_column_and_shows_no_text(world):
    world.api.get("/tasks")
    world.api.get("/webhooks")
    text = world.api.get("/metrics").content.decode()
    assert 'autotune_unreadable_values{column="metadata",table="tasks_task"} 1.0' in text
    assert re.search(r'autotune_unreadable_values\{column="url",table="webhooks_webhook"\} [1-9]', text)
    assert DamagedValue.objects.count() > 2
