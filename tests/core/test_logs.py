"""Tokens that are part of an address do not reach the log, whoever quotes the address there."""

import logging

import pytest

from autotune.core.logs import RedactionFilter


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/callbacks/{}",
        "/invitations/{}",
        "/account/password/reset/{}",
    ],
)
def test_the_token_of_an_address_is_not_logged(path):
    line = f"Forbidden (CSRF cookie not set.): {path.format('4f-TOKEN_0123')} again"
    record = logging.LogRecord("django.security.csrf", logging.WARNING, "", 0, "%s", (line,), None)
    assert RedactionFilter().filter(record)
    assert record.getMessage() == line.replace("4f-TOKEN_0123", "[token]")


def test_other_lines_are_left_as_they_are():
    record = logging.LogRecord("any", logging.INFO, "", 0, "/tasks/%s", ("task_1",), None)
    assert RedactionFilter().filter(record)
    assert (record.msg, record.args) == ("/tasks/%s", ("task_1",))
