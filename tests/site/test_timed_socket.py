"""The web process limits how long it waits for a client that sends a body or reads an answer."""

import socket
import threading
import time

import pytest

from autotune.site.servers import timed_socket
from autotune.site.servers.timed_socket import TimedSocket

AT_MOST_S = 5


@pytest.fixture
def pair(monkeypatch):
    monkeypatch.setattr(timed_socket, "STALL_S", 0.2)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def refused_soon(call, *arguments):
    started_at = time.monotonic()
    with pytest.raises(ConnectionResetError):
        call(*arguments)
    assert time.monotonic() - started_at < AT_MOST_S


def test_a_slow_body_is_abandoned_at_its_timeout(pair, monkeypatch):
    monkeypatch.setattr(timed_socket, "BODY_S", 0.2)
    monkeypatch.setattr(timed_socket, "MIN_RATE", 0.001)
    ours, theirs = pair
    timed = TimedSocket(ours)
    theirs.send(b"a")
    assert timed.recv(10) == b"a"
    refused_soon(timed.recv, 10)
    theirs.send(b"b")
    assert timed.recv(10) == b"b"  # it has arrived, so nothing waits
    refused_soon(timed.recv, 10)


def test_c27_a_body_below_the_minimum_rate_is_abandoned_early(pair):
    ours, theirs = pair
    timed = TimedSocket(ours)
    theirs.send(b"x" * 1_000)
    assert len(timed.recv(4_096)) == 1_000
    refused_soon(timed.recv, 10)


def test_c27_a_client_that_does_not_read_is_disconnected(pair):
    ours, _ = pair
    refused_soon(TimedSocket(ours).sendall, b"x" * 64 * 2**20)


def test_c27_sending_a_file_to_a_client_that_does_not_read_ends(pair, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 8 * 2**20)
    with path.open("rb") as file:
        refused_soon(TimedSocket(pair[0]).sendfile, file)


def test_a_client_that_reads_gets_every_byte_of_an_answer_larger_than_the_buffers(pair, tmp_path):
    ours, theirs = pair
    content = bytes(range(256)) * 32_768
    (tmp_path / "file").write_bytes(content)
    received = bytearray()

    def read():
        while len(received) < 2 * len(content) - 1:
            received.extend(theirs.recv(65_536))

    reader = threading.Thread(target=read)
    reader.start()
    timed = TimedSocket(ours)
    timed.sendall(content)
    with (tmp_path / "file").open("rb") as file:
        assert timed.sendfile(file, offset=1, count=len(content) - 1) == len(content) - 1
    reader.join(AT_MOST_S)
    assert bytes(received) == content + content[1:]


def test_the_end_of_a_body_is_reported_once(pair):
    ours, theirs = pair
    ends = []
    timed = TimedSocket(ours, unread=3, on_body=lambda: ends.append(1))
    theirs.send(b"ab")
    timed.recv(10)
    assert ends == []
    theirs.send(b"c")
    timed.recv(10)
    theirs.close()
    timed.recv(10)
    assert ends == [1]


def test_a_shorter_timeout_of_gunicorn_applies(pair):
    timed = TimedSocket(pair[0])
    timed.settimeout(0.01)
    with pytest.raises(TimeoutError):
        timed.recv(10)
    assert timed.gettimeout() == 0.01


def test_peeking_does_not_wait(pair):
    timed = TimedSocket(pair[0])
    with pytest.raises(BlockingIOError):
        timed.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
