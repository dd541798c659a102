"""Run exports, one at a time in a process, part by part. A worker that dies loses at most the part in progress."""

import base64
import logging
import threading
from datetime import timedelta
from typing import Final

from autotune.core.connections import is_away, release
from autotune.core.crypto.encryption import MasterKeyMissing, Undecryptable
from autotune.core.errors import AutotuneError
from exports import layouts
from exports.files import storing
from exports.files.storing import StorageAway, StorageFull
from exports.formats import json
from exports.models import Export
from exports.work import asking, claims, ending, finishing, parts
from exports.work.claims import ExportLease, LeaseLost, WorkerStopping
from exports.work.parts import ExportPart, PartCutter
from scores.results import filters

logger = logging.getLogger(__name__)
MOST_FAILURES: Final = 5  # consecutive failures without a finished part between them
PAUSE: Final = timedelta(seconds=30)
_run_lock = threading.Lock()  # one export per process: decryption and encoding compete with scoring
_stopping = threading.Event()

WORKER_LOST = ("worker_lost", "The workers that ran the export stopped repeatedly before they finished a part.")
UNREADABLE = (
    "unreadable_text",
    "The key of its files is damaged, or a master key is missing. Damaged text by itself is left out and counted.",
)
STORAGE_AWAY = ("storage_unavailable", "The storage for export files could not be reached for several minutes.")
STORAGE_FULL = (
    "storage_full",
    "There was no space for the files. Try again after the operator has freed space.",
)
UNEXPECTED = ("internal_error", "An internal error occurred. The worker's log has the details.")


def work() -> None:
    """Run the exports that are due, the oldest first, until none is. Does nothing if this process already runs them."""
    if not _run_lock.acquire(blocking=False):
        return
    try:
        while not _stopping.is_set() and (export := claims.take()):
            run(export)
    finally:
        _run_lock.release()


def stop() -> None:
    """Stop after the current batch; another worker continues the export after its last part."""
    _stopping.set()


def run(export: Export) -> None:
    """Work on a claimed export until it ends or this worker loses it."""
    if export.failures >= MOST_FAILURES:
        ending.fail(export, *WORKER_LOST)
        return
    try:
        with ExportLease(export, _stopping) as lease:
            _run(export, lease)
    except LeaseLost:
        logger.info("exports: this worker no longer holds %s", export.public_id)
    except WorkerStopping:
        claims.give_back(export)
    except StorageAway:
        _later(export, STORAGE_AWAY)
    except StorageFull:
        _later(export, STORAGE_FULL)
    except MasterKeyMissing as exc:  # an operator may configure the key again
        logger.error("exports: %s waits for a master key: %s", export.public_id, exc)
        _later(export, UNREADABLE)
    except Undecryptable:  # the key of its files; damaged text is left out
        ending.fail(export, *UNREADABLE)
    except AutotuneError as exc:
        code, message = _code_and_message(exc)
        ending.fail(export, code, message)
    except Exception as exc:  # no error of a row or a library may stop the next export
        if is_away(exc):  # the lease expires, and any worker continues the export
            logger.warning("exports: %s waits for the database: %s", export.public_id, exc)
        else:
            logger.exception("exports: %s failed", export.public_id)
            _later(export, UNEXPECTED)
    finally:
        release()


def _run(export: Export, lease: ExportLease) -> None:
    query = asking.query_of(export)
    layout = layouts.layout(query, filters.check(query, asking.principal_of(export)), names=export.dimensions)
    key = base64.b64decode(export.file_key or "")
    if export.expected is None:
        export.expected = layout.expected()
        if query.format == parts.WHOLE and export.expected > json.MAX_RECORDS:
            raise json.too_many(export.expected)
        export.dimensions = getattr(layout, "names", None)  # the same columns in all parts, even if new scores arrive
        claimed_export = Export.objects.filter(pk=export.pk, attempt=export.attempt)
        claimed_export.update(expected=export.expected, dimensions=export.dimensions)
    if export.attempt > 1:  # files that a worker stored before it died, without a row
        storing.delete_others(export.pk, [file.stored_as for file in parts.data_files(export)])
    number = parts.data_files(export).count()
    release()
    mark = parts.mark(export)
    cutter = PartCutter(layout.batches(export.cursor), lease)
    while number == 0 or not (query.format == parts.WHOLE or cutter.is_done):  # one object even with new rows
        lease.check()
        since, mark = mark, parts.mark(export)  # the cutter has read the part's first batch before
        part = parts.make(export, key, query, layout.columns, cutter, ExportPart(number, since))
        assert part.stored is not None
        try:
            is_committed = parts.commit(export, part)
        except LeaseLost:
            storing.delete(part.stored.name)
            raise  # after any other error the row may exist: the next attempt checks which files have one
        if not (is_committed and part.has_file):
            storing.delete(part.stored.name)
        if is_committed:
            number += part.has_file
        else:
            mark = parts.mark(export)
            cutter = PartCutter(layout.batches(export.cursor), lease)
        release()
    finishing.finish(export, key, query, layout.columns)


def _later(export: Export, reason: tuple[str, str]) -> None:
    """Try again after a pause; fail for good after MOST_FAILURES in a row."""
    failures = Export.objects.filter(pk=export.pk).values_list("failures", flat=True).first() or 0
    if failures + 1 >= MOST_FAILURES:
        ending.fail(export, *reason)
    else:
        code, message = reason
        claims.give_back(export, PAUSE * 2**failures, failures=failures + 1, error_code=code, error_message=message)


def _code_and_message(error: AutotuneError) -> tuple[str, str]:
    """Return the code and message of an error. The code is that of the first invalid member, if there is one."""
    field_error = error.errors[0] if error.errors else None
    return (field_error.code if field_error else error.code), asking.in_body_text(error.detail)
