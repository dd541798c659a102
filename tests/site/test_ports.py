"""A port that is taken is refused in words before anything starts."""

import socket
import threading

import pytest

from autotune.site.local import ports


@pytest.fixture
def taken():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server


def answer_once(server: socket.socket, status: str) -> threading.Thread:
    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(f"HTTP/1.0 {status}\r\n\r\n".encode())

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_taken_port_is_refused_with_advice(taken):
    port = taken.getsockname()[1]
    with pytest.raises(
        ports.PortInUse, match=f"port {port} on 127.0.0.1 is in use; choose another: make demo PORT=8001"
    ):
        ports.require_port(port, hint="choose another: make demo PORT=8001")


def test_the_first_free_candidate_is_taken(taken):
    port = taken.getsockname()[1]
    assert ports.free_port([port, 0]) == 0
    with pytest.raises(ports.PortInUse):
        ports.free_port([port])


@pytest.mark.parametrize(
    ("status", "ready"), [("200 OK", True), ("503 Service Unavailable", False), ("301 Moved", False)]
)
def test_only_a_2xx_status_counts_as_an_answer(taken, status, ready):
    thread = answer_once(taken, status)
    assert ports.answers(taken.getsockname()[1], "/api/v1/ready") is ready
    thread.join()


def test_a_closed_port_is_no_answer(taken):
    port = taken.getsockname()[1]
    taken.close()
    assert not ports.answers(port, "/api/v1/ready")
    assert not ports.listens(port)
