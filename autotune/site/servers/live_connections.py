"""Limit the connections of the process `live`, so that none of them waits for ever or blocks others.

Uvicorn lets a client take as long as it likes to send the head of a request, and to read its answer. At its limit of
descriptors it stops accepting. Here both times have a limit, and at the limit of descriptors quiet connections close.
"""

import asyncio
import sys
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from autotune.site.servers.quiet_connections import QuietConnections, open_file_limit

ARRIVE_S: Final = 15.0  # from the connection, or the first byte of a request, to the end of the head
READ_S: Final = 5.0  # interval of the checks that a client reads
MIN_RATE: Final = 16 * 1024  # bytes a second that it must read
MAX_CONNECTIONS: Final = 12_000  # more than LIVE_MAX_CALLS: an answer refuses the calls beyond that
SHARE_CLOSED: Final = 32  # at the limit, one connection in this many is closed at once


class PatientProtocol(H11Protocol):
    """Uvicorn's protocol with limits: `--http autotune.site.servers.live_connections:PatientProtocol`."""

    quiet: QuietConnections["PatientProtocol"] = QuietConnections()
    limit = MAX_CONNECTIONS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.arrival: asyncio.TimerHandle | None = None
        self.reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.settle()
        if len(self.connections) > self.limit:
            for protocol in self.quiet.to_close(max(1, self.limit // SHARE_CLOSED)):
                protocol.transport.abort()
                self.quiet.discard(protocol)

    def connection_lost(self, exc: Exception | None) -> None:
        self.quiet.discard(self)
        for timer in (self.arrival, self.reading):
            if timer is not None:
                timer.cancel()
        self.arrival = self.reading = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.settle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.is_in_flight and not self.transport.is_closing():
            self.quiet.add(self, self.address)

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def is_in_flight(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def settle(self) -> None:
        """After new data: find out whether a request is in flight, and limit how long the connection is without one."""
        if self.is_in_flight and not self.cycle.more_body:
            self.quiet.discard(self)
        elif not self.transport.is_closing():
            self.quiet.add(self, self.address)
        if self.is_in_flight and self.arrival is not None:
            self.arrival.cancel()
            self.arrival = None
        elif not self.is_in_flight and self.arrival is None:
            self.arrival = self.loop.call_later(ARRIVE_S, self.give_up)

    def give_up(self) -> None:
        """Close a connection on which no request has arrived in time."""
        from autotune.site.servers import refusals  # Django is not set up yet when uvicorn imports this

        if self.conn.trailing_data[0] and not self.transport.is_closing():
            error, detail = refusals.LATE
            self.transport.write(refusals.closing_answer(error(detail)))
        self.end()

    def end(self) -> None:
        """Close the connection, whether or not the client reads what is still to be sent."""
        self.quiet.discard(self)
        self.transport.close()
        self.loop.call_later(READ_S, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.end()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.check_reading(sys.maxsize)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.reading is not None:
            self.reading.cancel()
            self.reading = None

    def check_reading(self, unsent: int) -> None:
        """Abort if the client has read too little since `unsent` bytes were left for it."""
        left = self.transport.get_write_buffer_size()
        if left > unsent - READ_S * MIN_RATE:
            self.transport.abort()
            return
        self.reading = self.loop.call_later(READ_S, self.check_reading, left)

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request with a problem, like any other error."""
        from autotune.site.servers import refusals

        exc = sys.exc_info()[1]
        if not (self.is_in_flight and self.cycle.response_started):
            status = exc.error_status_hint if isinstance(exc, h11.RemoteProtocolError) else 400
            self.transport.write(refusals.closing_answer(refusals.error_with(status)))
        self.end()


def raise_limits() -> None:
    """Raise the limit of descriptors, and so that of connections. Called once in each process, before it accepts."""
    PatientProtocol.limit = open_file_limit(MAX_CONNECTIONS)
