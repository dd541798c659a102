"""What a test that commits leaves in the tables is gone after it, and what the migrations wrote is back."""

import json

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection

from autotune.access.models import Role
from tests.factories import ScoreFactory, WebhookFactory
from tests.support import emptying

pytestmark = pytest.mark.django_db(transaction=True)


def empty():
    """As Django does after a test that commits."""
    call_command("flush", verbosity=0, interactive=False, reset_sequences=False, inhibit_post_migrate=True)


def stored():
    """All rows of all tables, as Django writes them."""
    return sorted(json.loads(connection.creation.serialize_db_to_string()), key=str)


def written_by_migrations():
    return sorted(json.loads(connection._test_serialized_contents), key=str)


def test_the_rows_of_a_test_are_deleted_without_triggers_adding_others():
    ScoreFactory()  # a trigger counts it, and counts again when it is deleted
    WebhookFactory()
    empty()
    full = {model._meta.label for model in apps.get_models() if model._default_manager.exists()}
    assert full == {"access.Role", "auth.Permission", "contenttypes.ContentType"}


def test_rows_of_migrations_are_restored():
    Role.objects.filter(name="reviewer").delete()
    Role.objects.update(description="changed")
    Role.objects.create(name="another", permissions=[])
    empty()
    assert stored() == written_by_migrations()


def test_a_large_table_is_emptied_too(monkeypatch):
    monkeypatch.setattr(emptying, "MANY_OCTETS", 0)
    WebhookFactory()
    Role.objects.update(description="changed")
    empty()
    assert stored() == written_by_migrations()
