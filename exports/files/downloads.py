"""Select the file of an export to download, and check that it is available."""

import base64
import logging
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from autotune.core.clock import database_now
from autotune.core.crypto.encryption import Undecryptable
from autotune.core.errors import Conflict, Gone, Invalid, NotFound
from exports.files import storing
from exports.files.serving import Download, FileSegment
from exports.files.storing import StorageAway, StoredElsewhere
from exports.formats import FORMATS, compression
from exports.models import Export, ExportFile
from exports.states import ExportStatus, FileKind

logger = logging.getLogger(__name__)
JOINABLE: Final = ("jsonl", "tfrecord")  # files of these formats can be concatenated, even compressed


def find(export: Export, name: str | None, pointer: str = "?file") -> Download:
    """Find the file `name`, or all data files as one download.

    pointer  the pointer to the name, for errors
    raises   Conflict if the export has no files yet; Gone if they were deleted; NotFound if no file has the name;
             Invalid if the parts are separate files; StoredElsewhere if they are on another machine
    """
    require_files(export)
    if export.storage_id is not None and export.storage_id != storing.place()[0]:
        logger.error("the files of %s are in the folder of %s", export.public_id, export.storage_host)
        raise StoredElsewhere
    files = list(ExportFile.objects.filter(export=export).order_by("number").defer("values"))
    if name is None:
        chosen = [file for file in files if file.kind == FileKind.DATA]
        if len(chosen) > 1 and export.query.get("format", "jsonl") not in JOINABLE:
            raise Invalid.field(
                pointer, "file_needed", f"it has {len(chosen)} files; set `file` to one of the names in manifest.json."
            )
    else:
        chosen = [file for file in files if file.name == name]
        if not chosen:
            raise NotFound.field(pointer, "file")
    return _download(export, chosen)


def require_files(export: Export) -> None:
    """Raise Conflict if the export has no files yet, or Gone if its files were deleted."""
    status = ExportStatus(export.status)
    if status == ExportStatus.COMPLETED and export.expires_at and export.expires_at <= database_now():
        status = ExportStatus.EXPIRED  # even if the cleanup job has not run yet
    match status:
        case ExportStatus.COMPLETED:
            return
        case ExportStatus.EXPIRED:
            raise Gone(
                "The export's files were deleted at the end of their storage period. Create a new export.",
                code="export_expired",
            )
        case ExportStatus.WITHDRAWN:
            raise Gone(
                "Text in the export was erased, so its files were deleted. Create a new export.",
                code="export_withdrawn",
            )
        case ExportStatus.FAILED:
            raise Conflict("The export failed; it has no files.", code="export_failed")
        case ExportStatus.CANCELLED:
            raise Conflict("The export was cancelled; it has no files.", code="export_cancelled")
    raise Conflict("The export is not finished yet. Poll it until its status is `completed`.", code="export_unfinished")


def _download(export: Export, files: Sequence[ExportFile]) -> Download:
    single = files[0] if len(files) == 1 else None
    name = single.name if single else f"{export.query.get('layout', 'records')}.{files[0].name.partition('.')[2]}"
    try:
        key = base64.b64decode(export.file_key or "")
    except Undecryptable as exc:
        raise StorageAway("The key of the export's files cannot be read.") from exc
    return Download(
        name=f"{export.public_id}-{name}",
        media_type=media_type(name),
        digest=single.sha256 if single else export.sha256,
        key=key,
        segments=[FileSegment(UUID(str(file.pk)), file.stored_as, file.bytes) for file in files],
    )


def media_type(name: str) -> str:
    """Return the content type that matches the end of the file's name."""
    ending = name.rpartition(".")[2]
    for kind, extension in compression.EXTENSIONS.items():
        if ending == extension:
            return compression.MEDIA_TYPES[kind]
    return FORMATS[ending].media_type
