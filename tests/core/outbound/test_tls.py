"""TLS of the outbound engine: certificates, versions and pins."""

import base64
import contextlib
import socket
import ssl
import threading

import pytest

from autotune.core.outbound.addresses import parse_allow
from autotune.core.outbound.engine import Engine, OutboundRequest
from tests.core.outbound.conftest import OK, failure
from tests.support.tlsserver import Certificate


@pytest.fixture
def tls(serve, tmp_path):
    engines = []

    def start(certificate=None, *, trusted=True):
        certificate = certificate or Certificate(tmp_path)
        server = serve(OK, tls=certificate.context)
        engine = Engine(allow=parse_allow("127.0.0.1/32"), ca_file=str(certificate.file) if trusted else None)
        engines.append(engine)
        return engine, server, certificate

    yield start
    for engine in engines:
        engine.close()


def ask_tls(server, **changes):
    return OutboundRequest("POST", f"https://127.0.0.1:{server.port}/", body=b"{}", timeout_ms=3_000, **changes)


def test_a_trusted_certificate_passes_and_its_connection_is_used_again(tls):
    engine, server, _ = tls()
    assert [engine.fetch(ask_tls(server)).status for _ in range(3)] == [200] * 3
    assert server.connections == 1


def test_a_self_signed_certificate_is_refused_before_the_request(tls):
    engine, server, _ = tls(trusted=False)
    error = failure(engine, ask_tls(server))
    assert (error.code, error.retryable, server.requests) == ("tls_failed", False, [])


@pytest.mark.parametrize(
    "options", [{"addresses": (), "names": ("other.example",)}, {"days": (-3, -1)}], ids=["wrong name", "expired"]
)
def test_an_invalid_certificate_is_refused(tls, tmp_path, options):
    engine, server, _ = tls(Certificate(tmp_path, **options))
    assert failure(engine, ask_tls(server)).code == "tls_failed"
    assert server.requests == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_tls_below_1_2_is_refused(tls, tmp_path):
    certificate = Certificate(tmp_path)
    certificate.context.set_ciphers("ALL:@SECLEVEL=0")
    certificate.context.minimum_version = ssl.TLSVersion.TLSv1
    certificate.context.maximum_version = ssl.TLSVersion.TLSv1_1
    engine, server, _ = tls(certificate)
    error = failure(engine, ask_tls(server))
    assert (error.code, error.retryable, server.requests) == ("tls_failed", False, [])


def test_a_pin_is_checked_beside_the_certificate(tls):
    engine, server, certificate = tls()
    wrong = "sha256//" + base64.b64encode(bytes(32)).decode()
    assert engine.fetch(ask_tls(server, pins=(wrong, certificate.pin))).status == 200
    error = failure(engine, ask_tls(server, pins=(wrong,)))
    assert (error.code, error.retryable) == ("pin_mismatch", False)
    assert engine.fetch(ask_tls(server)).status == 200
    assert failure(engine, ask_tls(server, pins=(wrong,))).code == "pin_mismatch"
    assert len(server.requests) == 2


def test_a_connection_is_reused_only_under_the_same_pins(tls):
    engine, server, certificate = tls()
    wrong = "sha256//" + base64.b64encode(bytes(32)).decode()
    assert [engine.fetch(ask_tls(server, pins=(certificate.pin,))).status for _ in range(3)] == [200] * 3
    assert server.connections == 1
    assert failure(engine, ask_tls(server, pins=(wrong,))).code == "pin_mismatch"
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_connection_cut_in_the_handshake_may_be_tried_again(serve, engine):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def cut():
            with contextlib.suppress(OSError):
                listener.accept()[0].close()

        threading.Thread(target=cut, daemon=True).start()
        error = failure(engine, OutboundRequest("GET", f"https://127.0.0.1:{port}/", timeout_ms=2_000))
    assert (error.code, error.retryable) == ("connection_reset", True)
