"""Read scores one by one, as statistics, and as training data."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from typing import IO, Any, TypedDict, Unpack

from .. import _wire
from .._files import BrokenExport, copy, place
from .._transport import backoff_s
from ..models.exports import ExportFile
from ..models.pages import Page
from ..models.scores import Score, ScoreSummary
from ._base import Resource, member, segment

PAGE = 1000


class ScoreFilters(TypedDict, total=False):
    """Score filters. Dates: `end_date` is inclusive for a date, exclusive for a date-time; a naive time is UTC.

    source  one or more of 'api', 'manual', 'telemetry' and 'evaluation'. Without it, lists leave out evaluations, and
            figures and exports leave out telemetry too.
    """

    task_id: str | None
    model_id: str | None
    grader_id: str | None
    grader_version: str | None
    min_score: float | None
    max_score: float | None
    min_confidence: float | None
    start_date: date | str | None
    end_date: date | str | None
    source: str | Sequence[str] | None


class ExportOptions(ScoreFilters, total=False):
    """The options of an export; the defaults are the server's."""

    min_reward: float | None
    layout: str | None
    threshold: float | None
    conversational: bool | None
    tools: bool | None
    include: str | None
    min_score_delta: float | None
    per: str | None
    dimensions: bool | None
    dimension_columns: bool | None
    naming: str | None
    compression: str | None
    strategy: str | None
    seed: int | None
    cap_per_prompt: int | None


class Scores(Resource):
    """`client.scores`."""

    def list(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        cursor: str | None = None,
        **filters: Unpack[ScoreFilters],
    ) -> Page[Score]:
        """Return one page of scores."""
        return self._page("/scores", "scores", Score, {"limit": limit, "offset": offset, "cursor": cursor, **filters})

    def iterate(self, *, page_size: int = PAGE, **filters: Unpack[ScoreFilters]) -> Iterator[Score]:
        """Iterate over all scores of a selection, page by page (by cursor)."""
        yield from self.list(limit=page_size, **filters)

    def get(self, score_id: str) -> Score:
        """Return one score."""
        return _wire.decode(Score, member(self._transport.get(f"/scores/{segment(score_id)}"), "score"))

    def summary(self, **filters: Unpack[ScoreFilters]) -> ScoreSummary:
        """Return statistics over a selection."""
        return _wire.decode(ScoreSummary, self._transport.get("/scores/summary", filters))

    def export(
        self, target: str | os.PathLike[str] | IO[bytes], *, format: str = "jsonl", **options: Unpack[ExportOptions]
    ) -> ExportFile:
        """Stream training data to a target in 'jsonl', 'parquet', 'tfrecord' or 'json', never fully in memory.

        target  a path: written beside it and renamed when complete, so a failed export leaves an older file unchanged,
                and started again if the connection breaks; or a binary file object: written to directly
        """
        parameters = {"format": format, **options}
        if isinstance(target, (str, os.PathLike)):
            return self._export_path(os.fspath(target), parameters)
        size, digest = self._copy(target, parameters)
        return ExportFile(None, size, digest)

    def _export_path(self, path: str, parameters: dict[str, Any]) -> ExportFile:
        attempt = 0
        while True:
            attempt += 1
            handle, temporary = tempfile.mkstemp(prefix=".autotune-", suffix=".part", dir=os.path.dirname(path) or ".")
            with ExitStack() as on_error:
                on_error.callback(os.unlink, temporary)
                try:
                    with os.fdopen(handle, "wb") as file:
                        size, digest = self._copy(file, parameters)
                        file.flush()
                        os.fsync(file.fileno())
                    place(temporary, path)
                except BrokenExport:
                    if attempt > self._transport.max_retries:
                        raise
                else:
                    on_error.pop_all()
                    return ExportFile(path, size, digest)
            self._transport.sleep(backoff_s(attempt, None))

    def _copy(self, file: IO[bytes], parameters: dict[str, Any]) -> tuple[int, str]:
        digest = hashlib.sha256()
        with self._transport.stream("/scores/export", parameters) as response:
            size = copy(response, file, digest)
        return size, digest.hexdigest()
