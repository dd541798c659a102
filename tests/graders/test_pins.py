"""Pins of a grader's public key, against a real TLS server: checked on every connection before any byte is sent."""

import pytest

from autotune.core.outbound import engine as outbound_engine
from autotune.core.outbound.addresses import parse_allow
from graders.health import reports
from graders.models import Grader, GraderCheck
from tests.support.tlsserver import Certificate, Server

WRONG = "A" * 43 + "="
OWN = object()
ANSWER = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def tls(grader, tmp_path, monkeypatch, settings):
    """`tls(pins, trusted=…, **certificate)`: the grader behind TLS with these pins; `.requests`, `.pin`."""
    opened = []

    def start(pins=(), *, trusted=True, **options):
        certificate = Certificate(tmp_path, **options)
        server = Server(lambda connection, request: connection.sendall(ANSWER), tls=certificate.context)
        engine = outbound_engine.Engine(ca_file=str(certificate.file) if trusted else None)
        opened.extend([engine, server])
        monkeypatch.setattr(outbound_engine, "engine", lambda: engine)
        settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow("127.0.0.1/32")
        server.pin = certificate.pin.removeprefix("sha256//")
        Grader.objects.update(
            endpoint=f"https://127.0.0.1:{server.port}", pins=[server.pin if pin is OWN else pin for pin in pins]
        )
        return server

    yield start
    for server in opened:
        server.close()


def look():
    """What the look found: the code of its failure."""
    reports.check_now(Grader.objects.get())
    return GraderCheck.objects.order_by("-id").first().detail.partition(":")[0]


@pytest.mark.parametrize("pins", [[], [OWN], [WRONG, OWN]], ids=["none", "its own", "one of them"])
def test_a_certificate_with_a_pinned_key_is_called(tls, pins):
    server = tls(pins)
    assert [look(), look()] == ["grader_unavailable"] * 2
    assert (len(server.requests), server.connections) == (2, 1)


def test_another_key_is_sent_nothing(tls):
    server = tls([WRONG])
    assert look() == "pin_mismatch"
    assert server.requests == []


def test_a_connection_made_under_other_pins_is_not_used_again(tls):
    server = tls([OWN])
    assert look() == "grader_unavailable"
    Grader.objects.update(pins=[WRONG])
    assert look() == "pin_mismatch"
    Grader.objects.update(pins=[])
    assert look() == "grader_unavailable"
    Grader.objects.update(pins=[WRONG])
    assert look() == "pin_mismatch"
    assert len(server.requests) == 2


def test_a_pin_does_not_replace_the_certificate(tls):
    server = tls([OWN], trusted=False)
    assert look() == "tls_failed"
    assert server.requests == []


@pytest.mark.parametrize(
    "options", [{"addresses": (), "names": ("other.example",)}, {"days": (-3, -1)}], ids=["wrong name", "expired"]
)
def test_a_pinned_certificate_that_does_not_hold_is_sent_nothing(tls, options):
    server = tls([OWN], **options)
    assert look() == "tls_failed"
    assert server.requests == []
