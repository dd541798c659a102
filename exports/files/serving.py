"""Serve stored files, one or several concatenated, as a download: whole, one range, or 304 if unchanged."""

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from autotune.core.api.etags import matches
from autotune.core.connections import release
from autotune.core.errors import AutotuneError
from autotune.core.streams import watched
from exports.files import http_ranges, storing

logger = logging.getLogger(__name__)
PIECE: Final = 256 * 1024  # bounded, since a server copies what it sends


class FileMissing(AutotuneError):
    status, code, title = 416, "range_not_satisfiable", "Range not satisfiable"


@dataclass(frozen=True, slots=True)
class FileSegment:
    """One stored file. `size` counts its bytes before encryption."""

    id: UUID
    stored_as: str
    size: int


@dataclass(frozen=True, slots=True)
class Download:
    """A download: segments that are read as one file.

    digest  of the content, as hexadecimal text: the strong ETag
    """

    name: str
    media_type: str
    digest: str
    key: bytes
    segments: Sequence[FileSegment]

    @property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def etag(self) -> str:
        return f'"{self.digest}"'


def respond(request: HttpRequest, download: Download) -> HttpResponseBase:
    """Build the response to a GET or HEAD. It reads the first bytes before it starts, so that it can report an error.

    raises  FileMissing for a range after the end; StorageAway
    """
    headers = {
        "ETag": download.etag,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'attachment; filename="{download.name}"',
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
    }
    if matches(request.headers.get("If-None-Match", ""), download.etag):
        response = HttpResponse(status=304, headers=headers)
        del response["Content-Type"]
        return response
    size = download.size
    part = _part(request, download)
    start, end = part or (0, size)
    headers["Content-Length"] = str(end - start)
    if part:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    status = 206 if part else 200
    if request.method == "HEAD":
        return HttpResponse(status=status, content_type=download.media_type, headers=headers)
    pieces = content(download, start, end)
    release()
    first = next(pieces, b"")
    subject = f"the download of {download.name}"
    body = watched(itertools.chain([first], pieces), subject, request, logger)
    return StreamingHttpResponse(body, status=status, content_type=download.media_type, headers=headers)


def _part(request: HttpRequest, download: Download) -> tuple[int, int] | None:
    """Return the range that the request asks for, or None for the whole file. `Range` applies only to GET."""
    range_header = request.headers.get("Range", "")
    if not range_header or request.method != "GET":
        return None
    try:
        return http_ranges.parse_range(range_header, request.headers.get("If-Range", ""), download.etag, download.size)
    except http_ranges.Unsatisfiable:
        total = download.size
        detail = f"The file has {total} bytes."
        raise FileMissing(detail, headers={"Content-Range": f"bytes */{total}", "Accept-Ranges": "bytes"}) from None


def content(download: Download, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `start` up to `end`, in pieces of about PIECE.

    raises  StorageAway
    """
    piece = bytearray()
    begins = 0
    for segment in download.segments:
        low, high = max(0, start - begins), min(segment.size, end - begins)
        if low < high:
            for plain in storing.read(segment.stored_as, segment.id, download.key, segment.size, low, high):
                piece += plain
                if len(piece) >= PIECE:
                    yield bytes(piece)
                    piece.clear()
        begins += segment.size
    if piece:
        yield bytes(piece)
