"""Parse `Range` and `If-Range` of a download (RFC 9110, 13 and 14): one range of bytes, or the whole file."""

import re
from typing import Final

_ONE: Final = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,18})[ \t]*-[ \t]*([0-9]{0,18})[ \t]*", re.ASCII)


class Unsatisfiable(Exception):
    """The range begins after the end of the file; the response is 416."""


def parse_range(range_header: str, if_range: str, tag: str, size: int) -> tuple[int, int] | None:
    """Return the bytes [start, end) that a request asks for, or None for the whole file.

    A header that is not a single well-formed range, or whose `If-Range` has another tag, gets the whole file, as the
    standard allows.

    tag     the file's strong ETag, with its quotation marks
    raises  Unsatisfiable
    """
    match = _ONE.fullmatch(range_header)
    if match is None or (if_range and if_range.strip() != tag):
        return None
    first, last = match[1], match[2]
    if not first:
        return _suffix(last, size)
    start, end = int(first), int(last) + 1 if last else size
    if last and end <= start:
        return None
    if start >= size:
        raise Unsatisfiable
    return start, min(end, size)


def _suffix(length: str, size: int) -> tuple[int, int] | None:
    if not length:
        return None
    if int(length) == 0 or size == 0:
        raise Unsatisfiable
    return max(0, size - int(length)), size
