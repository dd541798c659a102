"""The request that is arriving on a connection: whether a thread may take it, and how much of it is missing."""

import re
from typing import Final

MAX_EARLY: Final = 256 * 1024
MAX_BODY: Final = 32 * 2**20  # more is refused by its length
_END: Final = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,19})[ \t]*\r\n", re.IGNORECASE)
_EXPECTS = re.compile(rb"\r\nexpect:", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:", re.IGNORECASE)
_HEALTH: Final = re.compile(rb"(?:GET|HEAD) /api/v1/health HTTP/1\.[01]\r\n")


class PartialRequest:
    """The part of a request that has arrived so far."""

    __slots__ = ("_searched", "is_chunked", "length", "needed", "received")

    def __init__(self) -> None:
        self.received = bytearray()
        self.needed: int | None = None  # bytes of head and body to wait for, set once the head is whole
        self.length = 0  # bytes of head and body together, as the head announces them
        self.is_chunked = False
        self._searched = 0

    def is_enough(self) -> bool:
        """Return whether a thread may take the request: it is whole, or MAX_EARLY bytes of it have arrived."""
        if self.needed is None:
            end = self.received.find(_END, self._searched)
            if end < 0:
                self._searched = max(0, len(self.received) - len(_END) + 1)
                return len(self.received) >= MAX_EARLY
            self.needed = end + len(_END) + self._body(end + 2)
        return len(self.received) >= min(self.needed, MAX_EARLY)

    @property
    def is_health(self) -> bool:
        """Whether the request is a health check."""
        return _HEALTH.match(self.received) is not None

    def _body(self, end: int) -> int:
        """Return the bytes of the body to wait for: none if the sender may wait for an answer first."""
        match = _LENGTH.search(self.received, 0, end)
        length = int(match[1]) if match else 0
        self.length = end + 2 + length
        self.is_chunked = _CHUNKED.search(self.received, 0, end) is not None
        return 0 if length > MAX_BODY or _EXPECTS.search(self.received, 0, end) else length

    @property
    def is_partial(self) -> bool:
        """Whether a thread would wait for the rest of the body."""
        return self.is_chunked or self.length > len(self.received)

    @property
    def unread(self) -> int | None:
        return None if self.is_chunked else max(0, self.length - len(self.received))
