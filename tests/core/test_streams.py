"""The log says how a streamed response ended, and an error breaks the connection."""

import logging

import pytest
from django.test import RequestFactory

from autotune.core.streams import watched

logger = logging.getLogger("tests.streams")


@pytest.fixture
def request_():
    request = RequestFactory().get("/")
    request.request_id = "req_1"
    return request


@pytest.fixture(autouse=True)
def _all_levels(caplog):
    caplog.set_level(logging.INFO)


def test_the_pieces_pass_unchanged_and_their_size_is_logged(request_, caplog):
    assert list(watched([b"ab", b"", b"c"], "the file", request_, logger)) == [b"ab", b"", b"c"]
    assert caplog.messages == ["the file ended after 3 bytes (request req_1)"]


def test_an_error_is_logged_with_its_traceback_and_raised_again(request_, caplog):
    def pieces():
        yield b"abc"
        raise ZeroDivisionError

    body = watched(pieces(), "the file", request_, logger)
    assert next(body) == b"abc"
    with pytest.raises(ZeroDivisionError):
        next(body)
    (record,) = caplog.records
    assert record.getMessage() == "the file failed after 3 bytes (request req_1)"
    assert record.exc_info[0] is ZeroDivisionError


def test_a_client_that_leaves_is_no_error(caplog):
    body = watched([b"a", b"b"], "the file", RequestFactory().get("/"), logger)
    next(body)
    body.close()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "the client closed the file after 1 bytes (request -)")
    ]
