"""When a request has arrived: the web worker gives it a thread no sooner. On the wire: tests/hostile/test_h_http.py."""

import pytest

from autotune.site.servers.arriving import MAX_BODY, MAX_EARLY, PartialRequest

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"


def has_arrived(content):
    arriving = PartialRequest()
    arriving.received += content
    return arriving.is_enough()


@pytest.mark.parametrize(
    ("content", "enough"),
    [
        (b"", False),
        (HEAD, False),
        (HEAD + b"\r", False),
        (HEAD + b"\r\n", True),
        (HEAD + b"Content-Length: 3\r\n\r\nab", False),
        (HEAD + b"Content-Length: 3\r\n\r\nabc", True),
        (HEAD + b"cOnTeNt-LeNgTh:3\r\n\r\nab", False),
        (HEAD + b"X: 1\r\n\r\nContent-Length: 9\r\n\r\n", True),  # in the body it is no header
        (HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n", True),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 1), True),
        (HEAD + b"Content-Length: %d\r\n\r\n" % MAX_BODY, False),
        (HEAD + b"Content-Length: %d\r\n\r\n" % MAX_BODY + b"x" * MAX_EARLY, True),
        (HEAD + b"Content-Length: many\r\n\r\n", True),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", True),
        (b"x" * MAX_EARLY, True),
    ],
    ids=range(15),
)
def test_a_thread_takes_complete_large_or_answerable_requests(content, enough):
    assert has_arrived(content) is enough


def test_bytes_may_arrive_one_by_one():
    arriving = PartialRequest()
    whole = HEAD + b"Content-Length: 2\r\n\r\nok"
    for byte in whole[:-1]:
        arriving.received.append(byte)
        assert not arriving.is_enough()
    arriving.received.append(whole[-1])
    assert arriving.is_enough()
