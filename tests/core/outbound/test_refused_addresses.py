"""Addresses that the outbound engine calls only with an allowance."""

import pytest

from autotune.core.outbound import engine as outbound_engine
from autotune.core.outbound.addresses import parse_allow
from autotune.core.outbound.engine import Engine, OutboundError, OutboundRequest
from tests.core.outbound.conftest import OK, TIMEOUT_MS, ask, failure


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0"])
def test_a_host_that_resolves_to_a_private_address_is_refused_before_connecting(serve, host):
    server = serve(OK)
    for allow in ("", "127.0.0.1/32:1", "10.0.0.0/8"):
        engine = Engine(allow=parse_allow(allow))
        error = failure(engine, OutboundRequest("GET", f"https://{host}:{server.port}/", timeout_ms=2_000))
        engine.close()
        assert (error.code, error.retryable) == ("address_refused", False)
    assert server.connections == 0


def test_plain_http_needs_an_allowance(serve):
    server = serve(OK)
    engine = Engine(allow=())
    assert failure(engine, ask(server)).code == "address_refused"
    engine.close()


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "", "127.0.0.1"])
def test_other_schemes_do_not_exist(engine, url):
    error = failure(engine, OutboundRequest("GET", url, timeout_ms=TIMEOUT_MS))
    assert error.code in ("malformed_answer", "invalid_request", "address_refused", "connect_failed")
    assert engine.in_flight == 0


def test_the_allowance_comes_from_the_settings(serve, settings):
    server = serve(OK)
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = ()
    with pytest.raises(OutboundError, match="https"):
        outbound_engine.fetch(ask(server))
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow(f"127.0.0.1/32:{server.port}")
    assert outbound_engine.fetch(ask(server)).status == 200


def test_c20_each_kind_of_call_has_an_allowance_and_connections_of_its_own(serve, settings):
    """A webhook cannot use a connection that a grader's call left open."""
    server = serve(OK)
    settings.AUTOTUNE_OUTBOUND_ALLOW_GRADERS = parse_allow(f"127.0.0.1/32:{server.port}")
    settings.AUTOTUNE_OUTBOUND_ALLOW_WEBHOOKS = parse_allow("127.0.0.1/32:1")
    settings.AUTOTUNE_OUTBOUND_ALLOW_IDENTITY = ()
    assert outbound_engine.fetch(ask(server)).status == 200
    for kind, variable in (("webhook", "ALLOW_WEBHOOKS"), ("identity", "ALLOW_IDENTITY")):
        with pytest.raises(OutboundError, match=variable) as refused:
            outbound_engine.fetch(ask(server), kind)
        assert refused.value.code == "address_refused"
    assert server.connections == 1


def test_c37_the_refusal_does_not_reveal_the_resolved_address(serve, caplog):
    server = serve(OK)
    engine = Engine(allow=())
    error = failure(engine, OutboundRequest("GET", f"https://localhost:{server.port}/", timeout_ms=2_000))
    engine.close()
    assert error.code == "address_refused"
    assert "127.0.0.1" not in error.message
    assert "::1" not in error.message
    assert str(server.port) not in error.message
    assert "127.0.0.1" in caplog.text or "::1" in caplog.text  # the operator of the server can look it up
