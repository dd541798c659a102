"""Strong ETags: the same bytes have the same tag, and a caller with the current tag gets a 304."""

import msgspec
import pytest
from django.test import RequestFactory

from autotune.core.api import etags


class Shape(msgspec.Struct):
    value: int


def answer(content, **headers):
    return etags.conditional(RequestFactory().get("/", headers=headers), content)


def test_the_tag_depends_only_on_the_bytes():
    assert answer(Shape(1))["ETag"] == answer(Shape(1))["ETag"] != answer(Shape(2))["ETag"]
    assert answer(Shape(1))["ETag"] == etags.etag(b'{"value":1}')


def test_the_response_may_be_cached_only_by_the_caller():
    assert answer(Shape(1))["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", "a"', True),
        ('"b",W/"a"', True),
        ("*", True),
        ('"b"', False),
        ("a", False),
        ("", False),
        ('"a', False),
        ('"A"', False),
        ('"*"', False),
    ],
)
def test_if_none_match_is_compared_weakly(header, expected):
    assert etags.matches(header, '"a"') is expected


def test_a_caller_with_the_current_tag_gets_no_body():
    tag = answer(Shape(1))["ETag"]
    again = answer(Shape(1), if_none_match=tag)
    assert (again.status_code, again.content, again["ETag"], "Content-Type" in again) == (304, b"", tag, False)
