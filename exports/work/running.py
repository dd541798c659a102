"""Running exports: one at a time in a process, part by part. A worker that dies loses at most the part it was at."""

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
from exports.work.claims import Lease, Lost, Stopped
from exports.work.parts import Cutter, Part
from scores.results import filters

logger = logging.getLogger(__name__)
MOST_FAILURES: Final = 5  # in a row, without a part between
PAUSE: Final = timedelta(seconds=30)
_run_lock = threading.Lock()  # of this process: rows are decrypted and encoded here, and scoring shares the processor
_stopping = threading.Event()

WORKER_LOST = ("worker_lost", "The workers that ran it ended again and again before a part was done.")
UNREADABLE = (
    "unreadable_text",
    "The key of its files is damaged, or a master key is missing. Damaged text by itself is left out and counted.",
)
STORAGE_AWAY = ("storage_unavailable", "The storage of exports could not be reached for several minutes.")
STORAGE_FULL = ("storage_full", "There was no space for its files. Try again when the operator has freed space.")
UNEXPECTED = ("internal_error", "It failed for a reason of our own; the log of the worker tells it.")


def work() -> None:
    """Run what is due, the oldest first, until nothing is. Does nothing if this process is at it already."""
    if not _run_lock.acquire(blocking=False):
        return
    try:
        while not _stopping.is_set() and (export := claims.take()):
            run(export)
    finally:
        _run_lock.release()


def stop() -> None:
    """End soon: what runs is given back after the batch at hand, and goes on elsewhere where its last part ended."""
    _stopping.set()


def run(export: Export) -> None:
    """Work on a claimed export until it is over, or not ours any more."""
    if export.failures >= MOST_FAILURES:
        ending.fail(export, *WORKER_LOST)
        return
    try:
        with Lease(export, _stopping) as lease:
            _run(export, lease)
    except Lost:
        logger.info("exports: %s is not ours any more", export.public_id)
    except Stopped:
        claims.give_back(export)
    except StorageAway:
        _later(export, STORAGE_AWAY)
    except StorageFull:
        _later(export, STORAGE_FULL)
    except MasterKeyMissing as exc:  # the key may be configured again
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


def _run(export: Export, lease: Lease) -> None:
    query = asking.query_of(export)
    layout = layouts.layout(query, filters.check(query, asking.principal_of(export)), names=export.dimensions)
    key = base64.b64decode(export.file_key or "")
    if export.expected is None:
        export.expected = layout.expected()
        if query.format == parts.WHOLE and export.expected > json.MAX_RECORDS:
            raise json.too_many(export.expected)
        export.dimensions = getattr(layout, "names", None)  # one schema for all parts, whatever scores come meanwhile
        claimed_export = Export.objects.filter(pk=export.pk, attempt=export.attempt)
        claimed_export.update(expected=export.expected, dimensions=export.dimensions)
    if export.attempt > 1:  # what a worker stored and did not live to note
        storing.delete_others(export.pk, [file.stored_as for file in parts.data_files(export)])
    number = parts.data_files(export).count()
    release()
    mark = parts.mark(export)
    cutter = Cutter(layout.batches(export.cursor), lease)
    while number == 0 or not (query.format == parts.WHOLE or cutter.is_done):  # one object, whatever came meanwhile
        lease.check()
        since, mark = mark, parts.mark(export)  # the cutter has read the part's first batch before
        part = parts.make(export, key, query, layout.schema, cutter, Part(number, since))
        assert part.stored is not None
        try:
            is_committed = parts.commit(export, part)
        except Lost:
            storing.delete(part.stored.name)
            raise  # after any other error it may be noted: the next attempt looks which files are
        if not (is_committed and part.has_file):
            storing.delete(part.stored.name)
        if is_committed:
            number += part.has_file
        else:
            mark = parts.mark(export)
            cutter = Cutter(layout.batches(export.cursor), lease)
        release()
    finishing.finish(export, key, query, layout.schema)


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
