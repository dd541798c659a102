"""Where export files are kept: the storage `exports` of the settings, a local folder or a bucket.

All names are built from ids: `<export>/<file>`. Files are encrypted, so reading the storage reveals nothing.
"""

import errno
import hashlib
import logging
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.storage import storages

from autotune.core.errors import Unavailable
from exports.files import sealed
from exports.files.sealed import SealedFileWriter

logger = logging.getLogger(__name__)
NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
AWAY: Final = "The storage for export files cannot be reached. Try again later."


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is now in the storage. `bytes` and `sha256` describe its content before encryption."""

    id: UUID
    name: str
    bytes: int
    sha256: str


class StorageFull(Unavailable):
    """There is no space for a file. A retry works once somebody has freed space."""

    code = "storage_full"

    def __init__(self) -> None:
        super().__init__("The disk for export files is full.")


class StoredElsewhere(Unavailable):
    """The files are in the folder of another machine."""

    code = "stored_elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "The files of this export are on another machine of this installation. Ask its operator to configure one "
            "folder or bucket for all machines (AUTOTUNE_EXPORT_STORAGE)."
        )


class StorageAway(Unavailable):
    """The storage does not respond, or has lost a file. A retry may work."""

    def __init__(self, detail: str = AWAY) -> None:
        super().__init__(detail)


def place() -> tuple[UUID | None, str]:
    """Return the id of this machine's folder and the host that created it; (None, '') for a bucket, which all share.

    raises  StorageAway
    """
    storage = _storage()
    if not hasattr(storage, "identity"):
        return None, ""
    try:
        identity: tuple[UUID, str] = storage.identity()
    except (OSError, ValueError, KeyError, TypeError) as exc:
        logger.warning("exports: the folder cannot be used: %s %s", type(exc).__name__, exc)
        raise StorageAway from exc
    return identity


def folder_of(export_id: UUID) -> str:
    return export_id.hex


def store(export_id: UUID, file_id: UUID, key: bytes, pieces: Iterable[bytes]) -> StoredFile:
    """Encrypt the pieces and store them as one file, completely or not at all.

    raises  StorageAway, StorageFull, and any error of the pieces
    """
    try:
        return _store(export_id, file_id, key, pieces)
    except (OSError, StorageAway) as exc:  # of the scratch folder or of the storage
        cause = exc.__cause__ if isinstance(exc, StorageAway) else exc
        if getattr(cause, "errno", None) not in NO_SPACE:
            raise
        logger.warning("exports: no space for a file of %s", export_id)
        raise StorageFull from exc


def _store(export_id: UUID, file_id: UUID, key: bytes, pieces: Iterable[bytes]) -> StoredFile:
    settings.EXPORT_SCRATCH.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with tempfile.TemporaryFile(dir=settings.EXPORT_SCRATCH) as draft:  # it has no name, so nothing remains of it
        sealer = SealedFileWriter(key, file_id, draft)
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            sealer.write(piece)
        sealer.close()
        draft.flush()
        name = f"{folder_of(export_id)}/{file_id.hex}"
        with _as_storage_away(f"{name} could not be stored"):
            saved = _storage().save(name, File(draft, name=name))
    return StoredFile(file_id, saved, size, digest.hexdigest())


def read(name: str, file_id: UUID, key: bytes, size: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `end` of a file of `size` bytes.

    raises  StorageAway, also for a file that is damaged or missing
    """
    detail = "The export's file cannot be read. Try again later, or create a new export."
    with (
        _as_storage_away(f"{name} cannot be read", detail, level=logging.ERROR),
        closing(_source(name, sealed.stored_offset(start))) as source,
    ):
        yield from sealed.opened(source, key, file_id, size, start, end)


def delete(name: str) -> None:
    """Delete a file. A failure is logged, and the cleanup job deletes the file later."""
    with suppress(StorageAway), _as_storage_away(f"{name} could not be deleted"):
        _storage().delete(name)


def delete_others(export_id: UUID, needed_names: Iterable[str] = ()) -> int:
    """Delete all files in the export's folder except `needed_names`; return how many."""
    folder, needed = folder_of(export_id), set(needed_names)
    try:
        stored_names = [f"{folder}/{name}" for name in _listed(folder)[1]]
    except StorageAway:
        return 0
    stray = [name for name in stored_names if name not in needed]
    for name in stray:
        delete(name)
    if not needed and hasattr(_storage(), "remove_folder"):
        _storage().remove_folder(folder)
    return len(stray)


def list_export_ids() -> list[UUID]:
    """Return the ids of the exports that have a folder in the storage.

    raises  StorageAway
    """
    return [UUID(hex=name) for name in _listed("")[0] if len(name) == 32 and set(name) <= set("0123456789abcdef")]


@contextmanager
def _as_storage_away(action: str, detail: str = AWAY, *, level: int = logging.WARNING) -> Iterator[None]:
    """Log an error of the storage, and raise StorageAway for it. Each storage raises its own: a disk, a bucket.

    action  what could not be done, for the log
    detail  of the error, for the person who waits
    raises  StorageAway
    """
    try:
        yield
    except Exception as exc:
        logger.log(level, "exports: %s: %s %s", action, type(exc).__name__, exc)
        raise StorageAway(detail) from exc


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """Return the names of the folders and of the files in a folder; none if it does not exist.

    raises  StorageAway
    """
    with _as_storage_away(f"{folder or 'the storage'} could not be listed"):
        try:
            folders, names = _storage().listdir(folder)
        except FileNotFoundError:
            return [], []
    return folders, names


def _storage() -> Any:
    return storages["exports"]


def _source(name: str, offset: int) -> Any:
    storage = _storage()
    if hasattr(storage, "read_from"):
        return storage.read_from(name, offset)
    file = storage.open(name, "rb")  # any other of Django's storages
    file.seek(offset)
    return file
