"""Connections on which no request is being answered. A server at its limit closes some of these to accept others."""

import heapq
import resource
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

RESERVED_FILES: Final = 256  # descriptors for everything else: database, Redis, graders, files, logs

Connection = TypeVar("Connection", bound=Hashable)


class QuietConnections(Generic[Connection]):
    """Connections that wait for a request, or for the rest of one, by the client's address.

    Closing one of them loses no work. Used by one thread.
    """

    def __init__(self) -> None:
        self._by_address: dict[str, dict[Connection, None]] = {}  # of each address, the longest quiet first
        self._addresses: dict[Connection, str] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def add(self, connection: Connection, address: str) -> None:
        """Note that the connection is quiet from now on."""
        self.discard(connection)
        self._addresses[connection] = address
        self._by_address.setdefault(address, {})[connection] = None

    def discard(self, connection: Connection) -> None:
        """Note that the connection is busy, or closed."""
        address = self._addresses.pop(connection, None)
        if address is not None:
            of_address = self._by_address[address]
            del of_address[connection]
            if not of_address:
                del self._by_address[address]

    def to_close(self, count: int) -> list[Connection]:
        """Choose up to `count` of them: each from the address that then has the most, the longest quiet first.

        So a client with few connections keeps them while another opens thousands.
        """
        queues = {address: iter(of_address) for address, of_address in self._by_address.items()}
        heap = [(-len(of_address), address) for address, of_address in self._by_address.items()]
        heapq.heapify(heap)
        chosen: list[Connection] = []
        while heap and len(chosen) < count:
            size, address = heap[0]
            chosen.append(next(queues[address]))
            if size < -1:
                heapq.heapreplace(heap, (size + 1, address))
            else:
                heapq.heappop(heap)
        return chosen


def open_file_limit(connections: int) -> int:
    """Raise the process's limit of descriptors as far as `connections` need, and return how many of them fit."""
    needed = connections + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return connections
    return max(1, min(connections, soft - RESERVED_FILES))
