"""Signatures as Standard Webhooks has them; the receiver's check is the published package."""

import base64
import time

import pytest
from standardwebhooks.webhooks import Webhook as Standard
from standardwebhooks.webhooks import WebhookVerificationError

from autotune.webhooks.delivery import signing

# The specification's public test value.
KNOWN = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "message_id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "timestamp": 1614265330,
    "body": b'{"test": 2432232314}',
}


def test_the_known_vector_holds():
    assert signing.signature(**KNOWN) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_secret_is_32_random_bytes_in_base64():
    secret = signing.new_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret != signing.new_secret()


def test_each_of_several_secrets_verifies():
    old, new, other = (signing.new_secret() for _ in range(3))
    body = '{"a": "ü"}'.encode()
    sent = dict(signing.headers((new, old), "evt_1", int(time.time()), body))
    assert sent["webhook-signature"].count("v1,") == 2
    for secret in (old, new):
        assert Standard(secret).verify(body, sent) == {"a": "ü"}
    with pytest.raises(WebhookVerificationError):
        Standard(other).verify(body, sent)
    with pytest.raises(WebhookVerificationError):
        Standard(new).verify(body + b" ", sent)
