"""Request bodies and parameters of the export job API."""

from typing import Annotated

from msgspec import Meta

from autotune.core.api.operations import BodyStruct, QueryStruct
from autotune.core.api.pagination import PageQuery
from exports.files.links import DEFAULT_S, LEAST_S, MOST_S
from exports.requests import ExportQuery
from exports.states import ExportStatus

FileName = Annotated[str, Meta(min_length=1, max_length=100)]


class NewExport(ExportQuery):
    """The members are the parameters of `GET /scores/export`."""


class ExportListQuery(PageQuery):
    status: ExportStatus | None = None


class DownloadQuery(QueryStruct):
    """`file`: a name among the export's `files`; omit it to download all data."""

    file: FileName | None = None


class NewLink(BodyStruct):
    """`file` as for a download. `expiresInS`: 60 to 604800 seconds; the link never outlives the files."""

    file: FileName | None = None
    expires_in_s: Annotated[int, Meta(ge=LEAST_S, le=MOST_S)] = DEFAULT_S
