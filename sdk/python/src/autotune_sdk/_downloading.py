"""Download the files of an export: resume interrupted downloads and check each file's SHA-256.

A file that is being downloaded is stored beside its target as `.<name>.<start of its SHA-256>.part`. It remains if
the download fails, so a later call, even of another process, resumes it; a changed file has another digest.
Two calls never write to the same part file: the second waits for the first, then finds the complete file or resumes.
If files cannot be locked, each call uses its own part file.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from ._files import PIECE, BrokenExport, DamagedFile, copy, place
from ._transport import Transport, backoff_s
from .models.exports import ExportedFile, ExportFile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PARTIAL = 206


class FileDownload:
    """The download of one file of an export to `path`.

    route        the export's download route
    on_progress  called with (bytes received, bytes in total)
    """

    def __init__(
        self,
        transport: Transport,
        route: str,
        file: ExportedFile,
        path: Path,
        on_progress: Callable[[int, int], None] | None,
    ) -> None:
        self.transport, self.route, self.file, self.path, self.on_progress = transport, route, file, path, on_progress
        self.part = path.with_name(f".{path.name}.{file.sha256[:16]}.part")

    def run(self) -> ExportFile:
        """Download the file, with the client's number of retries. Raises BrokenExport or DamagedFile."""
        done = ExportFile(str(self.path), self.file.bytes, self.file.sha256)
        if self._is_there():
            return done
        with self._alone():
            if self._is_there():  # the call that held the lock has downloaded it
                self.part.unlink(missing_ok=True)
                return done
            return self._tried()

    def _tried(self) -> ExportFile:
        attempt = 0
        while True:
            attempt += 1
            before = self.part.stat().st_size if self.part.exists() else 0
            try:
                return self._try()
            except BrokenExport:
                if self.part.stat().st_size > before:  # it makes progress: reset the number of retries
                    attempt = 1
                if attempt > self.transport.max_retries:
                    raise
                self.transport.sleep(backoff_s(attempt, None))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of the part file, or use a part file of this call only."""
        lock = self._locked()
        if lock is None:
            self.part = self.part.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
            yield
            return
        with lock:
            yield

    def _locked(self) -> IO[bytes] | None:
        """Open and lock the part file; None if files cannot be locked."""
        if fcntl is None:
            return None
        while True:
            with ExitStack() as unless_locked:
                file = unless_locked.enter_context(self.part.open("ab"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    is_current = os.path.samestat(os.fstat(file.fileno()), self.part.stat())
                except FileNotFoundError:
                    is_current = False  # another call renamed it while this one waited
                except OSError:
                    return None
                if is_current:
                    unless_locked.pop_all()
                    return file

    def _try(self) -> ExportFile:
        with self.part.open("ab") as file:
            digest, size = self._existing_digest(), file.tell()
            if size < self.file.bytes or not size:
                digest, size = self._fetch(file, digest, size)
            file.flush()
            os.fsync(file.fileno())
        if size < self.file.bytes:
            raise BrokenExport(f"{self.file.name} was interrupted after {size} of {self.file.bytes} bytes")
        if digest.hexdigest() != self.file.sha256:
            self.part.unlink()
            raise DamagedFile(f"{self.file.name} does not match the server's SHA-256: its own is {digest.hexdigest()}")
        place(str(self.part), str(self.path))
        return ExportFile(str(self.path), size, self.file.sha256)

    def _fetch(self, file: IO[bytes], digest: hashlib._Hash, size: int) -> tuple[hashlib._Hash, int]:
        headers = {"Range": f"bytes={size}-", "If-Range": f'"{self.file.sha256}"'} if size else {}
        with self.transport.stream(self.route, {"file": self.file.name}, headers) as response:
            if size and response.status_code != PARTIAL:  # the server sends the whole file: start again
                file.truncate(0)
                digest, size = hashlib.sha256(), 0
            on_progress = self.on_progress
            on_bytes = None if on_progress is None else lambda more: on_progress(size + more, self.file.bytes)
            return digest, size + copy(response, file, digest, on_bytes)

    def _existing_digest(self) -> hashlib._Hash:
        """Return the digest of the bytes that are already downloaded."""
        digest = hashlib.sha256()
        with self.part.open("rb") as file:
            while piece := file.read(PIECE * 16):
                digest.update(piece)
        return digest

    def _is_there(self) -> bool:
        """Return whether an earlier call has already downloaded this file."""
        if not self.path.is_file() or self.path.stat().st_size != self.file.bytes:
            return False
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.file.sha256
