"""Whether the client of a waiting request is still there."""

import socket

import pytest
from django.test import RequestFactory

from autotune.core.connections import has_left


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def request_over(sock):
    return RequestFactory().get("/", **{"gunicorn.socket": sock})


def test_a_waiting_client_is_connected(pair):
    assert not has_left(request_over(pair[0]))


def test_a_client_that_closed_has_left(pair):
    pair[1].close()
    assert has_left(request_over(pair[0]))


def test_a_pipelined_request_stays_in_the_socket(pair):
    pair[1].sendall(b"GET / HTTP/1.1\r\n")
    assert not has_left(request_over(pair[0]))
    assert pair[0].recv(3) == b"GET"


def test_a_socket_that_is_closed_here_too_has_left(pair):
    pair[0].close()
    assert has_left(request_over(pair[0]))


def test_a_request_without_a_socket_counts_as_connected():
    assert not has_left(RequestFactory().get("/"))
