"""`/webhooks`: subscribing, changing, rotating, testing, and looking at deliveries."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from autotune.core.outbound.addresses import parse_allow
from autotune.webhooks import endpoints, trying
from autotune.webhooks.delivery import signing
from autotune.webhooks.events.outbox import EmittedEvent, emit
from autotune.webhooks.models import Delivery, Event, Webhook
from autotune.webhooks.states import EventKind
from tests.factories import WEBHOOK_SECRET, WebhookFactory
from tests.support.receiving import Receiver, receiving

URL = "https://hooks.example.org/in?token=abc123&plain"
BODY = {"url": URL, "events": ["score.completed", "score.failed"]}
NEVER = "whk_00000000000000000000000000"


def move_to(url):
    """Addresses that nobody could register."""
    for webhook in Webhook.objects.all():
        webhook.url = url
        webhook.save(update_fields=["url"])


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def hook(api):
    return WebhookFactory(organization=api.organization, created_by=api.user, url=URL)


@pytest.fixture
def path(hook):
    return f"/webhooks/{hook.public_id}"


def codes(answer):
    return [(error["pointer"], error["code"]) for error in answer.json()["errors"]]


# --- making ---------------------------------------------------------------------------------------------------------


def test_the_secret_is_shown_once(api):
    answer = api.post("/webhooks", {**BODY, "description": "pager"})
    assert answer.status_code == 201
    webhook, secret = answer.json()["webhook"], answer.json()["secret"]
    assert secret.startswith(signing.PREFIX)
    assert webhook["url"] == URL
    assert (webhook["events"], webhook["description"], webhook["status"]) == (BODY["events"], "pager", "active")
    for shown in (api.get(f"/webhooks/{webhook['id']}"), api.get("/webhooks")):
        assert shown.status_code == 200
        assert secret not in shown.content.decode()
    assert Webhook.objects.get().secret == secret


def test_the_same_request_twice_creates_two_webhooks(api):
    ids = {api.post("/webhooks", BODY).json()["webhook"]["id"] for _ in range(2)}
    assert len(ids) == 2


def test_the_values_of_the_query_are_masked_in_lists(api, hook, path):
    (listed,) = api.get("/webhooks").json()["webhooks"]
    assert listed["url"] == "https://hooks.example.org/in?token=***&***"
    assert api.get(path).json()["webhook"]["url"] == URL


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"events": []}, "/events", "invalid_length"),
        ({"events": ["score.completed", "score.completed"]}, "/events/1", "duplicate"),
        ({"events": ["webhook.test"]}, "/events/0", "invalid_choice"),
        ({"events": ["score.everything"]}, "/events/0", "invalid_choice"),
        ({"events": "score.completed"}, "/events", "wrong_type"),
        ({"url": "http://hooks.example.org/"}, "/url", "scheme_refused"),
        ({"url": "https://127.0.0.1/"}, "/url", "address_refused"),
        ({"url": "https://169.254.169.254/latest"}, "/url", "address_refused"),
        ({"url": "https://hooks.example.org:22/"}, "/url", "port_refused"),
        ({"url": "https://user:pw@hooks.example.org/"}, "/url", "userinfo_refused"),
        ({"url": "https://hooks.example.org/a/../b"}, "/url", "path_refused"),
        ({"url": "https://hooks.example.org/" + "a" * (1 << 20)}, "/url", "url_too_long"),
        ({"url": ""}, "/url", "invalid_url"),
        ({"description": "x" * 1001}, "/description", "invalid_length"),
        ({"description": "a\x00"}, "/description", "invalid_text"),
        ({"secret": "mine"}, "/secret", "unknown_field"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_webhooks_are_refused(api, change, pointer, code):
    answer = api.post("/webhooks", {**BODY, **change})
    assert answer.status_code == 400
    assert codes(answer) == [(pointer, code)]
    assert Webhook.objects.count() == 0


def test_an_organization_has_a_limit_of_webhooks(api, monkeypatch):
    monkeypatch.setattr(endpoints, "MAX_WEBHOOKS", 2)
    assert [api.post("/webhooks", BODY).status_code for _ in range(3)] == [201, 201, 409]
    assert api.last.json()["code"] == "too_many_webhooks"


# --- who ------------------------------------------------------------------------------------------------------------


def every_call(path):
    return [
        ("GET", path, None), ("PATCH", path, {"description": "x"}), ("POST", f"{path}/rotate-secret", None),
        ("POST", f"{path}/test", None), ("GET", f"{path}/deliveries", None),
        ("POST", f"{path}/deliveries/dlv_00000000000000000000000000/redeliver", None), ("DELETE", path, None),
    ]  # fmt: skip


def test_a_stranger_finds_nothing(api_for, api, hook, path):
    stranger = api_for(role="organization_admin")
    for method, address, body in every_call(path):
        assert stranger.call(method, address, body).status_code == 404, (method, address)
    assert stranger.get("/webhooks").json()["webhooks"] == []
    api.key = None
    assert api.get(path).status_code == 401


def test_a_reviewer_has_no_access(api_for, api, hook, path):
    reviewer = api_for(role="reviewer", organization=api.organization)
    for method, address, body in [*every_call(path), ("GET", "/webhooks", None), ("POST", "/webhooks", BODY)]:
        assert reviewer.call(method, address, body).status_code == 403, (method, address)


def test_a_grader_owner_has_their_own(api_for, api, hook, path):
    owner = api_for(role="grader_owner", organization=api.organization)
    answer = owner.post("/webhooks", {"url": URL, "events": ["grader.status_changed"]})
    assert answer.status_code == 201
    assert [row["id"] for row in owner.get("/webhooks").json()["webhooks"]] == [answer.json()["webhook"]["id"]]
    assert owner.get(path).status_code == 404
    assert Webhook.objects.get(created_by=owner.user).own_only
    assert not Webhook.objects.filter(created_by=api.user, own_only=True).exists()


@pytest.mark.parametrize("kind", ["score.completed", "score.failed", "review.requested"])
def test_a_grader_owner_cannot_subscribe_to_events_they_may_not_read(api_for, kind):
    owner = api_for(role="grader_owner")
    answer = owner.post("/webhooks", {"url": URL, "events": ["grader.status_changed", kind]})
    assert codes(answer) == [("/events/1", "event_refused")]
    webhook_id = owner.post("/webhooks", {"url": URL, "events": ["grader.status_changed"]}).json()["webhook"]["id"]
    answer = owner.patch(f"/webhooks/{webhook_id}", {"events": [kind]})
    assert codes(answer) == [("/events/0", "event_refused")]


# --- changing -------------------------------------------------------------------------------------------------------


def test_a_change_keeps_the_secret_if_the_host_stays(api, hook, path):
    answer = api.patch(path, {"url": "https://hooks.example.org/other", "events": ["review.requested"]})
    assert answer.status_code == 200
    assert answer.json()["secret"] is None
    hook.refresh_from_db()
    assert (hook.url, hook.events, hook.secret) == (
        "https://hooks.example.org/other",
        ["review.requested"],
        WEBHOOK_SECRET,
    )
    assert api.patch(path, {}).status_code == 200


@pytest.mark.parametrize("url", ["https://elsewhere.example.org/in", "https://hooks.example.org:8443/in"])
def test_another_host_gets_a_new_secret(api, hook, path, url):
    api.post(f"{path}/rotate-secret")
    secret = api.patch(path, {"url": url}).json()["secret"]
    hook.refresh_from_db()
    assert hook.secret == secret != WEBHOOK_SECRET
    assert (hook.previous_secret, hook.previous_valid_until) == (None, None)


def test_a_disabled_webhook_can_be_enabled_again(api, hook, path):
    Webhook.objects.update(status="disabled", disabled_reason="It failed.", failing_since=timezone.now())
    shown = api.patch(path, {"status": "active"}).json()["webhook"]
    assert (shown["status"], shown["disabledReason"], shown["failingSince"]) == ("active", None, None)
    shown = api.patch(path, {"status": "disabled"}).json()["webhook"]
    assert (shown["status"], shown["disabledReason"]) == ("disabled", endpoints.SWITCHED_OFF)
    assert [row["id"] for row in api.get("/webhooks?status=disabled").json()["webhooks"]] == [hook.public_id]
    assert api.get("/webhooks?status=active").json()["webhooks"] == []


def test_rotating_twice_within_a_day_needs_force(api, hook, path):
    first = api.post(f"{path}/rotate-secret").json()
    assert first["webhook"]["previousValidUntil"] is not None
    refused = api.post(f"{path}/rotate-secret")
    assert (refused.status_code, refused.json()["code"]) == (409, "rotation_in_progress")
    second = api.post(f"{path}/rotate-secret", {"force": True}).json()
    hook.refresh_from_db()
    assert (hook.secret, hook.previous_secret) == (second["secret"], first["secret"])


def test_a_deleted_webhook_is_404_and_its_secret_erased(api, hook, path):
    assert api.delete(path).status_code == 204
    for method, address, body in every_call(path):
        assert api.call(method, address, body).status_code == 404
    hook.refresh_from_db()
    assert hook.secret == ""


def test_unknown_ids_are_404(api):
    for method, address, body in every_call(f"/webhooks/{NEVER}"):
        assert api.call(method, address, body).status_code == 404


# --- the test call --------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_test_calls_only_this_endpoint_and_reports_the_result(api, hook, path):
    with receiving(Receiver(lambda request: (200, b"private"))) as receiver:
        move_to(receiver.url)
        WebhookFactory(organization=api.organization, url=receiver.url + "/other", events=["score.completed"])
        answer = api.post(f"{path}/test")
        assert answer.status_code == 200
        shown = answer.json()["delivery"]
        (got,) = receiver.received
        event = got.verified(WEBHOOK_SECRET)
    assert (event["event"], event["data"]["webhookId"]) == ("webhook.test", hook.public_id)
    assert got.id == shown["eventId"]
    assert (shown["event"], shown["status"], shown["attempts"]) == ("webhook.test", "delivered", 1)
    assert (shown["tries"][0]["status"], shown["tries"][0]["excerpt"]) == (200, None)
    assert "private" not in answer.content.decode()


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_failed_test_is_parked_and_not_counted(api, hook, path):
    with receiving(Receiver(lambda request: 410)) as receiver:
        move_to(receiver.url)
        shown = api.post(f"{path}/test").json()["delivery"]
    assert (shown["status"], shown["tries"][0]["status"], shown["nextAttemptAt"]) == ("parked", 410, None)
    hook.refresh_from_db()
    assert (hook.status, hook.failing_since) == ("active", None)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_tests_are_limited_for_each_webhook_and_for_the_organization(api, hook, path, settings, monkeypatch):
    settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = parse_allow("127.0.0.1/32:1")
    move_to("http://127.0.0.1:1/")
    assert api.post(f"{path}/test").status_code == 200
    limited = api.post(f"{path}/test")
    assert (limited.status_code, limited.json()["code"], limited["Retry-After"]) == (429, "too_many_requests", "5")
    monkeypatch.setattr(trying, "TESTS_A_MINUTE", 2)
    others = [WebhookFactory(organization=api.organization, url="http://127.0.0.1:1/") for _ in range(2)]
    assert [api.post(f"/webhooks/{webhook.public_id}/test").status_code for webhook in others] == [200, 429]
    assert api.last["Retry-After"] == "60"
    assert Event.objects.count() == 2


# --- deliveries -----------------------------------------------------------------------------------------------------


@pytest.fixture
def delivery(hook):
    event = Event.objects.create(organization=hook.organization, kind="grader.status_changed", data={})
    log = [
        {"at": f"2026-01-01T00:00:0{n}.000Z", "status": 500 + n, "latencyMs": 1.5, "error": "No.", "excerpt": "oh"}
        for n in range(2)
    ]
    return Delivery.objects.create(webhook=hook, event=event, status="parked", attempt=2, failures=2, log=log)


def test_deliveries_are_listed_with_their_tries(api, hook, path, delivery):
    (shown,) = api.get(f"{path}/deliveries").json()["deliveries"]
    assert shown["id"] == delivery.public_id
    assert (shown["event"], shown["status"], shown["attempts"]) == ("grader.status_changed", "parked", 2)
    assert [attempt["status"] for attempt in shown["tries"]] == [501, 500]
    assert shown["tries"][0] == {
        "at": "2026-01-01T00:00:01.000Z", "status": 501, "latencyMs": 1.5, "error": "No.", "excerpt": "oh",
    }  # fmt: skip
    assert api.get(f"{path}/deliveries?status=pending").json()["deliveries"] == []


def test_the_list_takes_the_same_queries_for_many(api, hook, path, delivery, django_assert_num_queries):
    api.get(f"{path}/deliveries")
    with CaptureQueriesContext(connection) as of_one:
        api.get(f"{path}/deliveries")
    for _ in range(5):
        event = Event.objects.create(organization=hook.organization, kind="score.failed", data={})
        Delivery.objects.create(webhook=hook, event=event)
    with django_assert_num_queries(len(of_one)):
        assert len(api.get(f"{path}/deliveries").json()["deliveries"]) == 6


def test_a_parked_delivery_can_be_made_due_again_repeatedly(api, hook, path, delivery):
    for _ in range(2):
        answer = api.post(f"{path}/deliveries/{delivery.public_id}/redeliver")
        assert answer.status_code == 202
        assert answer.json()["delivery"]["status"] == "pending"
    delivery.refresh_from_db()
    assert (delivery.failures, delivery.attempt, delivery.ended_at) == (0, 2, None)
    assert timezone.now() - delivery.queued_at < endpoints.GRACE


def test_a_delivery_is_not_sent_again_while_a_try_is_out_or_the_webhook_is_off(api, hook, path, delivery):
    Delivery.objects.update(status="pending", leased_until=timezone.now() + endpoints.GRACE)
    again = f"{path}/deliveries/{delivery.public_id}/redeliver"
    assert (api.post(again).status_code, api.last.json()["code"]) == (409, "delivery_in_flight")
    Webhook.objects.update(status="disabled")
    assert (api.post(again).status_code, api.last.json()["code"]) == (409, "webhook_disabled")


def test_a_delivery_of_another_webhook_is_not_found(api, hook, path, delivery):
    other = WebhookFactory(organization=api.organization)
    assert api.post(f"/webhooks/{other.public_id}/deliveries/{delivery.public_id}/redeliver").status_code == 404


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_redelivery_reaches_the_receiver_with_the_same_id(api, hook, path, pump):
    with receiving(Receiver()) as receiver:
        move_to(receiver.url)
        emit(EventKind.GRADER_STATUS_CHANGED, [EmittedEvent(hook.organization_id, data={"a": 1})])
        pump()
        (shown,) = api.get(f"{path}/deliveries").json()["deliveries"]
        api.post(f"{path}/deliveries/{shown['id']}/redeliver")
        pump()
        first, second = receiver.received
    assert (first.id, first.body) == (second.id, second.body)
