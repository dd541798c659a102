"""The broker of the embedded setup: kombu's filesystem transport, which here writes each message atomically.

kombu 5.7 creates a message's file before it writes it, and its reader does not ask for the lock, so a worker could read
an empty file and crash. Here a message is written under another name and renamed, and an invalid file is discarded.
"""

import fcntl
import json
import os
import uuid
from contextlib import suppress
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, filesystem

SCHEME = "autotune-files"


class FileChannel(filesystem.Channel):
    """Messages are files `<time>_<uuid>.<queue>.msg` in one folder, taken by renaming them into another."""

    def get_table(self, exchange: str) -> list[Any]:
        """Return the exchange's queues; none while its file is being created."""
        try:
            return super().get_table(exchange)
        except ValueError:
            return []

    def _queue_bind(self, *args: Any) -> None:
        """Bind under a lock: if two processes start together, the second would read an empty file."""
        self.control_folder.mkdir(parents=True, exist_ok=True)
        with open(self.control_folder / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                super()._queue_bind(*args)
            except ValueError:  # half a table, left by a power cut: it names only our queue, so write it again
                (self.control_folder / f"{args[0]}.exchange").unlink()
                super()._queue_bind(*args)

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        name = f"{round(monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        draft = Path(self.data_folder_out, f".{name}.draft")
        draft.write_text(json.dumps(payload), encoding="utf-8")
        draft.rename(Path(self.data_folder_out, name))

    def _get(self, queue: str, timeout: Any = None) -> Any:
        for name in sorted(os.listdir(self.data_folder_in)):
            if name.startswith(".") or name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = Path(self.processed_folder, name)
            # Another worker took it, or it is not a message. A message is a hint, so no work is lost.
            with suppress(OSError, ValueError, RecursionError):
                Path(self.data_folder_in, name).rename(taken)
                payload = taken.read_bytes()
                taken.unlink()
                return json.loads(payload)
        raise Empty


class FileTransport(filesystem.Transport):
    Channel = FileChannel


def register() -> None:
    """Register the scheme with kombu."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:FileTransport"
