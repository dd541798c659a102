"""What a server needs of a grader, so that the servers do not import `Grader`, which imports them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from .handling import Answer
from .protocol import Header
from .secrets import Secrets


class ServedGrader(Protocol):
    """A grader as the servers see it."""

    name: str
    version: str
    secrets: Secrets

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Return the threads in which an ASGI server runs this grader."""

    def handle(self, method: str, path: str, headers: list[Header], body: bytes) -> Answer:
        """Answer one HTTP request with a signed response."""
