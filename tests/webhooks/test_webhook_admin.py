"""The admin pages of webhooks: what they show, what they hide, and their actions."""

import pytest
from django.test import Client
from django.urls import reverse

from autotune.access.models import User
from autotune.webhooks.models import Delivery, Event, Webhook
from tests.factories import WEBHOOK_SECRET, WebhookFactory, public

pytestmark = pytest.mark.django_db
LOG = [{"at": "2026-01-01T00:00:00.000Z", "status": 500, "latencyMs": 1.0, "error": "No.", "excerpt": "<b>oh</b>"}]


@pytest.fixture
def pages():
    client = Client()
    client.force_login(User.objects.create_superuser("boss@example.org", "a-password-of-the-boss"))
    return client


@pytest.fixture
def delivery():
    webhook = WebhookFactory(url="https://hooks.example.org/in?token=hunter2")
    event = Event.objects.create(organization=webhook.organization, kind="score.failed", data={"a": "marmalade"})
    return Delivery.objects.create(webhook=webhook, event=event, status="parked", log=LOG)


def address(model, view="changelist", *args):
    return reverse(f"admin:webhooks_{model}_{view}", args=args)


def act(pages, model, action, *rows):
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows], "confirmed": "yes"}
    return pages.post(address(model), body, follow=True).content.decode()


def test_lists_and_forms_show_no_secret_and_no_text(pages, delivery):
    rows = {"webhook": delivery.webhook, "event": delivery.event, "delivery": delivery}
    for model, row in rows.items():
        for path in (address(model), address(model, "change", row.pk)):
            answer = pages.get(path)
            assert answer.status_code == 200, path
            html = answer.content.decode()
            assert row.public_id in html
            for hidden in (WEBHOOK_SECRET, "hunter2", "marmalade", "<b>oh</b>"):
                assert hidden not in html, path
    assert "&lt;b&gt;oh&lt;/b&gt;" in pages.get(address("delivery", "change", delivery.pk)).content.decode()


def test_a_public_id_finds_its_row(pages, delivery):
    WebhookFactory()
    html = pages.get(address("webhook"), {"q": public("whk", delivery.webhook)}).content.decode()
    assert "1 webhook\n" in html


def test_webhooks_are_switched_off_and_on(pages, delivery):
    act(pages, "webhook", "switch_off", delivery.webhook)
    assert Webhook.objects.get().status == "disabled"
    act(pages, "webhook", "switch_on", delivery.webhook)
    assert Webhook.objects.get().status == "active"


def test_deliveries_are_sent_again(pages, delivery):
    assert "1 due now" in act(pages, "delivery", "redeliver", delivery)
    assert Delivery.objects.get().status == "pending"
    Webhook.objects.update(status="disabled")
    assert "The webhook is disabled." in act(pages, "delivery", "redeliver", delivery)


def test_nothing_is_added_changed_or_deleted_by_hand(pages, delivery):
    for model, row in {"webhook": delivery.webhook, "event": delivery.event, "delivery": delivery}.items():
        assert pages.get(address(model, "add")).status_code == 403
        assert pages.post(address(model, "delete", row.pk)).status_code == 403
