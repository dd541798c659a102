"""Servers on loopback, and an engine that may call them with short timeouts."""

import pytest

from autotune.core.outbound.addresses import parse_allow
from autotune.core.outbound.engine import Engine, OutboundError, OutboundRequest
from tests.support.tlsserver import Server

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
TIMEOUT_MS = 400


@pytest.fixture
def serve():
    servers = []

    def start(answer, **options):
        if isinstance(answer, bytes):
            raw = answer
            answer = lambda connection, request: connection.sendall(raw)  # noqa: E731
        server = Server(answer, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def engine():
    outbound_engine = Engine(allow=parse_allow("127.0.0.1/32"))
    yield outbound_engine
    outbound_engine.close()


def ask(server, **changes):
    options = {"method": "POST", "body": b"{}", "timeout_ms": TIMEOUT_MS} | changes
    path = options.pop("path", "/score")
    return OutboundRequest(url=f"http://127.0.0.1:{server.port}{path}", **options)


def failure(engine, request):
    with pytest.raises(OutboundError) as caught:
        engine.fetch(request)
    return caught.value
