"""Log graded items, one JSON line for each, to compare with the platform's database."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence

from .results import Graded


class ItemLog:
    """Appends {"completionId", "value" | "error", "requestId"} lines to a file, flushed after each response."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()

    def write(self, items: Sequence[Graded]) -> None:
        """Write the items of one response."""
        lines = []
        for item in items:
            outcome = {"value": item.value} if item.error is None else {"error": item.error}
            line = {"completionId": item.completion_id, **outcome, "requestId": item.request_id}
            lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        data = memoryview("".join(lines).encode())
        with self._lock:
            while data:
                data = data[self._file.write(data) :]
