"""Files that have expired, or that belong to no export, are deleted."""

from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core import ids
from exports.files import storing
from exports.models import Export, ExportFile
from exports.work import ending
from tests.exports.jobs.conftest import content_of, download, files_in

pytestmark = pytest.mark.django_db


def test_expired_files_are_deleted(api, scored, ask, run, storage, settings, django_capture_on_commit_callbacks):
    scored(1)
    export, kept = run(ask()), run(ask())
    assert export.expires_at - export.completed_at == timedelta(days=settings.EXPORT_DAYS)
    Export.objects.filter(pk=export.pk).update(expires_at=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        assert ending.expire(timezone.now()) == 1
    export.refresh_from_db()
    assert (export.status, export.file_key) == ("expired", None)
    assert api.get(f"/exports/{export.public_id}").json()["export"]["files"] is None
    assert {path.parent.name for path in files_in(storage)} == {kept.pk.hex}
    assert content_of(download(api, kept))


def test_orphaned_files_are_deleted(api, scored, ask, run, storage):
    scored(1)
    done = run(ask())
    stray = storing.store(done.pk, ids.new(), bytes(32), [b"of a worker that died"])
    nobody = storing.store(ids.new(), ids.new(), bytes(32), [b"of an export that is gone"])
    ended = run(ask())
    Export.objects.filter(pk=ended.pk).update(status="expired", file_key=None)  # and then the process died
    (storage / "not ours").mkdir()
    assert ending.clean_up() == 4
    left = {str(path.relative_to(storage)) for path in files_in(storage)}
    assert left == set(ExportFile.objects.filter(export=done).values_list("stored_as", flat=True))
    assert stray.name not in left
    assert nobody.name not in left
    assert content_of(download(api, done))
