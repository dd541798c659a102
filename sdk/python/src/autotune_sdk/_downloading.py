"""Downloading the files of an export: going on where it broke off, and checking what came.

While a file is on its way it lies beside its place as `.<name>.<beginning of its SHA-256>.part`. It stays there when
the download fails, so a later call, also of another process, goes on with it; a file that changed has another digest.
Two calls never write to one such file: the second waits for the first and then finds the whole file, or goes on.
Where files cannot be locked, each call has a file of its own.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ._files import PIECE, BrokenExport, DamagedFile, copy, place
from ._transport import Transport, backoff_s
from .models import ExportFile
from .models_exports import ExportedFile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PARTIAL = 206


class FileDownload:
    """One file of an export on its way to `path`.

    route        the export's download
    on_progress  called with (octets here, octets in all)
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
        """Downloads it, in as many tries as the client makes. Raises BrokenExport or DamagedFile."""
        done = ExportFile(str(self.path), self.file.bytes, self.file.sha256)
        if self._is_there():
            return done
        with self._alone():
            if self._is_there():  # whoever was waited for brought it
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
                if self.part.stat().st_size > before:  # it comes forward: as many tries again
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
        """The part file, locked; None where that cannot be done."""
        if fcntl is None:
            return None
        while True:
            file = self.part.open("ab")
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(file.fileno()), self.part.stat()):
                    return file
            except FileNotFoundError:
                pass  # it got its name while this call waited
            except OSError:
                file.close()
                return None
            except BaseException:
                file.close()
                raise
            file.close()

    def _try(self) -> ExportFile:
        with self.part.open("ab") as file:
            digest, size = self._existing_digest(), file.tell()
            if size < self.file.bytes or not size:
                digest, size = self._fetch(file, digest, size)
            file.flush()
            os.fsync(file.fileno())
        if size < self.file.bytes:
            raise BrokenExport(f"{self.file.name} broke off after {size} of {self.file.bytes} bytes")
        if digest.hexdigest() != self.file.sha256:
            self.part.unlink()
            raise DamagedFile(f"{self.file.name} is not what the server says: its SHA-256 is {digest.hexdigest()}")
        place(str(self.part), str(self.path))
        return ExportFile(str(self.path), size, self.file.sha256)

    def _fetch(self, file: IO[bytes], digest: hashlib._Hash, size: int) -> tuple[hashlib._Hash, int]:
        headers = {"Range": f"bytes={size}-", "If-Range": f'"{self.file.sha256}"'} if size else {}
        with self.transport.stream(self.route, {"file": self.file.name}, headers) as response:
            if size and response.status_code != PARTIAL:  # the whole file comes: begin anew
                file.truncate(0)
                digest, size = hashlib.sha256(), 0
            on_progress = self.on_progress
            on_bytes = None if on_progress is None else lambda more: on_progress(size + more, self.file.bytes)
            return digest, size + copy(response, file, digest, on_bytes)

    def _existing_digest(self) -> hashlib._Hash:
        """Return the digest of the bytes that are here already."""
        digest = hashlib.sha256()
        with self.part.open("rb") as file:
            while piece := file.read(PIECE * 16):
                digest.update(piece)
        return digest

    def _is_there(self) -> bool:
        """Whether an earlier call brought this very file."""
        if not self.path.is_file() or self.path.stat().st_size != self.file.bytes:
            return False
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.file.sha256
