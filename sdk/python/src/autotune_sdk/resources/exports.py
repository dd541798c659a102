"""Create export jobs, in which the server writes training data of any size to files, and download the files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Unpack

from .. import _wire
from .._downloading import FileDownload
from ..errors import AutotuneError
from ..models.exports import Export, ExportedFile, ExportFile, ExportLink
from ..models.pages import Page
from ._base import Resource, member, new_key, segment
from .scores import ExportOptions

POLL_S, MAX_POLL_S = 0.5, 5.0
PAGE = 1000


class ExportNotCompleted(AutotuneError):
    """The job was not completed, or not in time; `export` is its current state."""

    code = "export_not_completed"

    def __init__(self, detail: str, export: Export) -> None:
        super().__init__(detail)
        self.export = export


class Exports(Resource):
    """`client.exports`."""

    def create(
        self, *, format: str = "jsonl", idempotency_key: str | None = None, **options: Unpack[ExportOptions]
    ) -> Export:
        """Start a job with the filters and options of `client.scores.export`. Retries never start a second one."""
        body = {_wire.camel(name): _option(value) for name, value in options.items() if value is not None}
        if isinstance(source := options.get("source"), str):
            body["source"] = [source]
        data = _wire.dumps({"format": format, **body})
        return _export(self._transport.post("/exports", data, idempotency_key=idempotency_key or new_key()))

    def list(
        self,
        *,
        status: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
    ) -> Page[Export]:
        """Return one page of jobs, the newest first."""
        return self._page(
            "/exports", "exports", Export, {"status": status, "limit": limit, "offset": offset, "cursor": cursor}
        )

    def iterate(self, *, status: str | None = None, page_size: int = PAGE) -> Iterator[Export]:
        """Iterate over all jobs, page by page."""
        yield from self.list(status=status, limit=page_size)

    def get(self, export_id: str) -> Export:
        """Return one job, with its progress and its files."""
        return _export(self._transport.get(f"/exports/{segment(export_id)}"))

    def cancel(self, export_id: str) -> Export:
        """Cancel an unfinished job; a cancelled one stays unchanged. ConflictError for one that ended otherwise."""
        return _export(self._transport.post(f"/exports/{segment(export_id)}/cancel", b"{}", safe=True))

    def wait(
        self,
        export_id: str,
        timeout_s: float | None = None,
        on_progress: Callable[[Export], None] | None = None,
    ) -> Export:
        """Wait until a job is completed; None: no time limit.

        on_progress  called with the job after each request
        raises       ExportNotCompleted if it ends otherwise, or not in time
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        pause = POLL_S
        while True:
            export = self.get(export_id)
            if on_progress:
                on_progress(export)
            if export.status == "completed":
                return export
            if export.final:
                why = f": {export.error.message}" if export.error else ""
                raise ExportNotCompleted(f"the export is {export.status}{why}", export)
            if until is not None and time.monotonic() >= until:
                raise ExportNotCompleted(f"the export is still {export.status} after {timeout_s:g} s", export)
            self._transport.sleep(pause if until is None else min(pause, max(0.0, until - time.monotonic())))
            pause = min(MAX_POLL_S, pause * 1.5)

    def download(
        self,
        export: str | Export,
        folder: str | os.PathLike[str],
        *,
        file: str | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> tuple[ExportFile, ...]:
        """Download the files of a completed job into a folder, under their names; return those that contain rows.

        This call, or a later one, resumes interrupted downloads. It checks each file's SHA-256 before the file gets its
        name, and skips files that are already downloaded.

        file         only the file of this name
        on_progress  called with (bytes received, bytes in total) of the current file
        raises       BrokenExport when the connection breaks again and again, DamagedFile, ExportNotCompleted
        """
        job = export if isinstance(export, Export) and export.files else self.get(_id(export))
        if job.status != "completed":
            raise ExportNotCompleted(f"the export is {job.status}", job)
        job_files = [job_file for job_file in job.files if file is None or job_file.name == file]
        if file is not None and not job_files:
            raise ValueError(
                f"the export has no file {file!r}; it has {', '.join(job_file.name for job_file in job.files)}"
            )
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        route = f"/exports/{segment(job.id)}/download"
        downloads = {
            job_file.name: FileDownload(self._transport, route, job_file, target / _plain(job_file), on_progress).run()
            for job_file in job_files
        }
        rows = {job_file.name for job_file in job.data_files}
        return tuple(local_file for name, local_file in downloads.items() if name in rows or file is not None)

    def link(self, export_id: str, *, file: str | None = None, expires_in_s: int | None = None) -> ExportLink:
        """Create an address that downloads a file without a key: share it only with people who may have the data."""
        body = _wire.dumps({k: v for k, v in {"file": file, "expiresInS": expires_in_s}.items() if v is not None})
        return _wire.decode(ExportLink, self._transport.post(f"/exports/{segment(export_id)}/links", body, safe=True))


def _id(export: str | Export) -> str:
    return export.id if isinstance(export, Export) else export


def _option(value: Any) -> Any:
    return _wire.time_text(value) if hasattr(value, "isoformat") else value


def _plain(file: ExportedFile) -> str:
    """Return a file's name; raises ValueError if it could point outside the folder."""
    if not file.name or file.name != os.path.basename(file.name) or file.name in (".", "..") or "\\" in file.name:
        raise ValueError(f"{file.name!r} is not a plain file name")
    return file.name


def _export(answer: Any) -> Export:
    return _wire.decode(Export, member(answer, "export"))
