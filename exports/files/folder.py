"""Export files in a local folder."""

import os
from pathlib import Path
from typing import Any, BinaryIO

from django.core.files.storage import FileSystemStorage


class Folder(FileSystemStorage):
    """A folder that its owner alone reads. A saved file is on the disk, so that a row may name it."""

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

    def read_from(self, name: str, offset: int) -> BinaryIO:
        file = open(self.path(name), "rb")  # noqa: SIM115 - the caller closes it
        file.seek(offset)
        return file

    def remove_folder(self, name: str) -> None:
        """Remove a folder that is empty by now."""
        try:
            os.rmdir(self.path(name))
        except OSError:  # it is not there, or somebody has just written into it
            return
