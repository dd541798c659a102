"""Export files in a local folder."""

import json
import os
import socket
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import UUID, uuid4

from django.core.files.storage import FileSystemStorage

IDENTITY: Final = ".storage.json"  # {"id", "host"}: machines that share a folder read the same file
HOST_LENGTH: Final = 64


class FolderStorage(FileSystemStorage):
    """A folder that only its owner can read. Saving a file also flushes it to disk before a database row names it."""

    def __init__(self, location: str) -> None:
        super().__init__(location=location, file_permissions_mode=0o600, directory_permissions_mode=0o700)

    def _save(self, name: str, content: Any) -> str:
        saved: str = super()._save(name, content)  # type: ignore[misc]
        path = Path(self.path(saved))
        for entry in (path, path.parent):
            handle = os.open(entry, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        return saved

    def identity(self) -> tuple[UUID, str]:
        """Return the folder's id and the host that created it. The first process to ask writes the file, once.

        raises  OSError if the folder cannot be read or written, ValueError if Autotune did not write the file
        """
        path = Path(self.path(IDENTITY))
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = path.with_name(f"{IDENTITY}.{uuid4().hex}")
            draft.write_text(json.dumps({"id": str(uuid4()), "host": socket.gethostname()[:HOST_LENGTH]}))
            try:
                os.link(draft, path)
            except FileExistsError:  # another process was first
                pass
            finally:
                draft.unlink()
        stored = json.loads(path.read_text(encoding="utf-8"))
        return UUID(stored["id"]), str(stored["host"])[:HOST_LENGTH]

    def read_from(self, name: str, offset: int) -> BinaryIO:
        file = open(self.path(name), "rb")  # noqa: SIM115 - the caller closes it
        file.seek(offset)
        return file

    def remove_folder(self, name: str) -> None:
        """Remove a folder if it is empty."""
        try:
            os.rmdir(self.path(name))
        except OSError:  # it does not exist, or another process has just written into it
            return
