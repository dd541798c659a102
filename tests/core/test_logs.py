"""Tokens that are part of an address never reach the log, whichever component logs the address."""

import logging

import pytest
from uvicorn.logging import AccessFormatter

from autotune.core import logs
from autotune.core.logs import RedactionFilter, RepeatFilter


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/callbacks/{}",
        "/invitations/{}",
        "/account/password/reset/{}",
        "/api/v1/rewards/openrlhf/{}",
        "/api/v1/rewards/slime/{}?rewardKey=score",
        "http://localhost:8000/api/v1/rewards/verify%2F{}",
        "/api/v1/rewards/OpenRLHF/{}",
        "//api//v1//rewards//openrlhf//{}",
        "/api/v1/rewards/%6Fpenrlhf/{}",
        "/api/v1%2frewards%2Fopenrlhf%2f{}",
        "/api/v1/Callbacks//{}",
    ],
)
def test_the_token_of_an_address_is_not_logged(path):
    line = f"Forbidden (CSRF cookie not set.): {path.format('4f-TOKEN_0123')} again"
    record = logging.LogRecord("django.security.csrf", logging.WARNING, "", 0, "%s", (line,), None)
    assert RedactionFilter().filter(record)
    assert record.getMessage() == line.replace("4f-TOKEN_0123", "[token]")


def test_other_lines_stay_unchanged():
    record = logging.LogRecord("any", logging.INFO, "", 0, "/tasks/%s", ("task_1",), None)
    assert RedactionFilter().filter(record)
    assert (record.msg, record.args) == ("/tasks/%s", ("task_1",))


def test_an_access_line_of_uvicorn_keeps_its_format():
    args = ("127.0.0.1:5000", "POST", "/api/v1/rewards/openrlhf/4f-TOKEN_0123", "1.1", 200)
    record = logging.LogRecord("uvicorn.access", logging.INFO, "", 0, '%s - "%s %s HTTP/%s" %d', args, None)
    assert RedactionFilter().filter(record)
    assert "TOKEN" not in AccessFormatter("%(client_addr)s %(request_line)s %(status_code)s").format(record)


@pytest.mark.parametrize("line", ["/api/v1/reward-endpoints/rwd_1", "POST /api/v1/rewards 200", "/rewards//a/[token]"])
def test_other_addresses_are_no_secret(line):
    record = logging.LogRecord("any", logging.INFO, "", 0, line, (), None)
    assert RedactionFilter().filter(record)
    assert record.getMessage() == line


@pytest.fixture
def lines():
    """A repeating logger, and the list of lines that it writes: (lines, logger)."""
    handler = logging.Handler()
    written = []
    handler.emit = lambda record: written.append(record.getMessage())
    logger = logs.repeating("tests.support.outages")
    logger.addHandler(handler)
    filters = list(logger.filters)
    yield written, logger
    logger.removeHandler(handler)
    logger.filters[:] = filters


def test_c28_a_line_that_repeats_is_written_once_and_later_with_its_count(lines):
    written, logger = lines
    logger.filters[:] = [RepeatFilter(every_s=3_600)]

    def log(number):
        logger.warning("the database is away: %s", number)

    for number in range(100):
        log(number)
    assert written == ["the database is away: 0"]
    logger.filters[0].every_s = 0
    log(100)
    assert written[1:] == ["the database is away: 100 (99 more like this)"]


def test_another_line_of_the_same_logger_is_written(lines):
    written, logger = lines
    logger.warning("one")
    logger.warning("another")
    assert written == ["one", "another"]


def test_records_with_a_kind_are_the_same_if_their_kind_is(lines):
    written, logger = lines
    for number, kind in enumerate(["a", "b", "a", ("b", 1), "b"]):
        logger.error("%s", number, extra={"kind": kind})
    assert written == ["0", "1", "3"]


def test_only_answers_with_the_statuses_are_filtered():
    repeat_filter = RepeatFilter(statuses=(503,))
    records = [logging.LogRecord("django.request", logging.ERROR, "", 1, "x", (), None) for _ in range(4)]
    for record, status in zip(records, (503, 500, 503, 500), strict=True):
        record.status_code = status
    assert [repeat_filter.filter(record) for record in records] == [True, True, False, True]


def test_a_repeating_logger_has_one_filter_however_often_it_is_requested():
    assert logs.repeating("tests.again") is logs.repeating("tests.again")
    assert len(logs.repeating("tests.again").filters) == 1
