"""The system check of stored webhook addresses, and which of them the webhook allowance covers."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from autotune.core.outbound.addresses import parse_allow
from autotune.webhooks.checks import stored_addresses
from autotune.webhooks.models import Webhook
from autotune.webhooks.states import WebhookStatus
from tests.factories import WebhookFactory

pytestmark = pytest.mark.django_db
INNER = "http://127.0.0.1:9100/hook"


def warnings():
    return stored_addresses(databases=["default"])


def test_c20_an_enabled_webhook_that_only_the_former_variable_covered_is_named(settings):
    settings.AUTOTUNE_OUTBOUND_ALLOW = settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow("127.0.0.1/32")
    webhook = WebhookFactory(url=INNER)
    WebhookFactory(url="https://hooks.example.org/a")
    WebhookFactory(url=INNER, status=WebhookStatus.DISABLED)
    [warning] = warnings()
    assert warning.id == "webhooks.W001"
    assert webhook.public_id in warning.msg
    assert "127.0.0.1" not in warning.msg
    assert "AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS" in warning.hint
    errors = StringIO()
    call_command("check", databases=["default"], stderr=errors)
    assert webhook.public_id in errors.getvalue()


def test_c20_there_is_no_warning_if_the_allowance_covers_them(settings):
    settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = parse_allow("127.0.0.1/32:9100")
    WebhookFactory(url=INNER)
    assert warnings() == []


def test_without_a_database_the_check_queries_nothing(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert stored_addresses(databases=None) == []


def test_the_check_skips_an_address_that_cannot_be_read():
    webhook = WebhookFactory(url=INNER)
    with connection.cursor() as cursor:
        table = Webhook._meta.db_table
        cursor.execute(f"update {table} set url = %s", [b"\x00" * 40])
    assert Webhook.objects.filter(pk=webhook.pk).exists()
    assert warnings() == []
