"""A receiver's check of a webhook, against the published package as the sender."""

import base64
import time
from datetime import UTC, datetime

import pytest
from autotune_sdk import WebhookRefused, verify_webhook
from standardwebhooks.webhooks import Webhook as Standard

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OTHER = "whsec_" + base64.b64encode(bytes(32)).decode()
BODY = '{"event":"score.completed","data":{"completionId":"comp_ü"},"timestamp":"2026-11-28T01:02:03.456Z"}'


def signed(secret=SECRET, *, sent_at=None, body=BODY):
    when = datetime.fromtimestamp(sent_at if sent_at is not None else time.time(), UTC)
    signature = Standard(secret).sign("evt_1", when, body)
    return {"Webhook-Id": "evt_1", "WEBHOOK-TIMESTAMP": str(int(when.timestamp())), "webhook-signature": signature}


@pytest.mark.parametrize("body", [BODY, BODY.encode()], ids=["text", "bytes"])
def test_a_genuine_event_is_read(body):
    event = verify_webhook(signed(), body, SECRET)
    assert (event.id, event.event, event.data) == ("evt_1", "score.completed", {"completionId": "comp_ü"})
    assert event.timestamp == datetime(2026, 11, 28, 1, 2, 3, 456000, UTC)


def test_any_of_several_signatures_is_enough():
    headers = signed()
    headers["webhook-signature"] = f"v1a,xyz {signed(OTHER)['webhook-signature']} {headers['webhook-signature']}"
    assert verify_webhook(headers, BODY, SECRET).id == "evt_1"


@pytest.mark.parametrize("seconds", [-310, 310])
def test_old_and_future_timestamps_are_refused(seconds):
    headers = signed(sent_at=time.time() + seconds)
    with pytest.raises(WebhookRefused, match="off"):
        verify_webhook(headers, BODY, SECRET)
    assert verify_webhook(headers, BODY, SECRET, tolerance_s=600).id == "evt_1"


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-signature": signed(OTHER)["webhook-signature"]},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
        {"Webhook-Id": "evt_2"},
        {"WEBHOOK-TIMESTAMP": "soon"},
        {"WEBHOOK-TIMESTAMP": "9" * 400},
    ],
    ids=range(6),
)
def test_an_altered_event_is_refused(change):
    with pytest.raises(WebhookRefused):
        verify_webhook({**signed(), **change}, BODY, SECRET)


def test_a_changed_body_a_missing_header_and_a_bad_secret_are_refused():
    with pytest.raises(WebhookRefused):
        verify_webhook(signed(), BODY + " ", SECRET)
    with pytest.raises(WebhookRefused, match="webhook-signature"):
        verify_webhook({"webhook-id": "evt_1", "webhook-timestamp": "1"}, BODY, SECRET)
    with pytest.raises(WebhookRefused, match="secret"):
        verify_webhook(signed(), BODY, "not base64!")


@pytest.mark.parametrize("body", ["\ufeff" + BODY, b"\xef\xbb\xbf" + BODY.encode()], ids=["text", "bytes"])
@pytest.mark.parametrize("is_signed", [True, False])
def test_c22_a_body_with_a_byte_order_mark_is_refused_with_that_reason(body, is_signed):
    headers = signed(body=body if isinstance(body, str) else body.decode()) if is_signed else signed()
    with pytest.raises(WebhookRefused, match="begins with a byte-order mark"):
        verify_webhook(headers, body, SECRET)
