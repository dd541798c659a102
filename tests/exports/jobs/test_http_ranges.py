"""The byte range that a request selects."""

import pytest

from exports.files.http_ranges import Unsatisfiable, parse_range

TAG = '"abc"'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=2-5", (2, 6)),
        ("bytes=2-", (2, 10)),
        ("bytes=2-99999", (2, 10)),
        ("bytes=-3", (7, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes = 9-9", (9, 10)),
    ],
)
def test_one_range(header, expected):
    assert parse_range(header, "", TAG, 10) == expected


@pytest.mark.parametrize(
    "header",
    ["", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0-1,3-4", "items=0-1", "bytes=0-1x",
     "bytes=" + "9" * 5000 + "-", "bytes=\u0663-\u0664", "bytes=+1-2", "bytes=1 2-3"],
)  # fmt: skip
def test_other_range_headers_mean_the_whole_file(header):
    assert parse_range(header, "", TAG, 10) is None


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=10-20", "bytes=999999999999-", "bytes=-0"])
def test_a_range_past_the_end_is_refused(header):
    with pytest.raises(Unsatisfiable):
        parse_range(header, "", TAG, 10)


@pytest.mark.parametrize("header", ["bytes=0-", "bytes=-1", "bytes=0-0"])
def test_an_empty_file_has_no_range(header):
    with pytest.raises(Unsatisfiable):
        parse_range(header, "", TAG, 0)


def test_a_range_of_another_version_is_the_whole_file():
    assert parse_range("bytes=2-5", TAG, TAG, 10) == (2, 6)
    assert parse_range("bytes=2-5", '"other"', TAG, 10) is None
    assert parse_range("bytes=99-", '"other"', TAG, 10) is None
    assert parse_range("bytes=2-5", f"W/{TAG}", TAG, 10) is None
    assert parse_range("bytes=2-5", "Sat, 28 Nov 2026 12:00:00 GMT", TAG, 10) is None
