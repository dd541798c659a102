"""Machines with separate folders: a job continues where its parts are; a download reports files on another machine."""

import errno

import pytest
from django.core.files.storage import storages

from exports.files import storing
from exports.files.folder import FolderStorage
from exports.files.storing import StorageAway
from exports.models import Export
from exports.work import claims, running
from tests.exports.jobs.conftest import content_of, download, rows
from tests.support.concurrency import together

pytestmark = pytest.mark.django_db


@pytest.fixture
def on_host(settings, tmp_path):
    """`on_host("b")` moves this process to that machine, whose folder no other machine shares."""

    def move(name):
        settings.STORAGES = {
            **settings.STORAGES,
            "exports": {"BACKEND": "exports.files.folder.FolderStorage", "OPTIONS": {"location": str(tmp_path / name)}},
        }

    return move


def test_c44_a_download_on_another_machine_reports_that_the_files_are_elsewhere(api, ask, run, scored, on_host):
    scored(3)
    on_host("a")
    export = run(ask())
    on_host("b")
    answer = download(api, export)
    assert (answer.status_code, answer.json()["code"]) == (503, "stored_elsewhere")
    assert "AUTOTUNE_EXPORT_STORAGE" in answer.json()["detail"]
    on_host("a")
    assert len(rows(content_of(download(api, export)))) == 3


def test_c44_a_shared_folder_serves_every_machine(api, ask, run, scored, on_host):
    scored(3)
    on_host("shared")
    export = run(ask())
    storages._storages.pop("exports", None)  # another process, which reads the folder again
    assert len(rows(content_of(download(api, export)))) == 3


def test_c44_only_the_machine_that_started_a_job_continues_it(ask, on_host):
    on_host("a")
    export = ask()
    started = claims.take()
    claims.give_back(started)
    on_host("b")
    assert claims.take() is None
    on_host("a")
    assert claims.take() == export


def test_c44_any_machine_takes_a_job_that_has_not_started(ask, on_host):
    on_host("b")
    export = ask()
    claimed = claims.take()
    assert (claimed, claimed.storage_id) == (export, storing.place()[0])


def test_c44_a_link_on_another_machine_reports_the_same(api, ask, run, scored, on_host, client):
    scored(1)
    on_host("a")
    export = run(ask())
    url = api.post(f"/exports/{export.public_id}/links", {}).json()["url"]
    on_host("b")
    answer = client.get(url.partition("/api/")[1] + url.partition("/api/")[2])
    assert (answer.status_code, answer.json()["code"]) == (503, "stored_elsewhere")


def test_exports_from_before_folders_had_ids_can_still_be_downloaded(api, ask, run, scored):
    scored(1)
    export = run(ask())
    Export.objects.filter(pk=export.pk).update(storage_id=None, storage_host="")
    assert len(rows(content_of(download(api, export)))) == 1


def test_concurrent_processes_agree_on_the_id_of_the_folder(tmp_path):
    folder = str(tmp_path / "new")
    names = together(*[lambda: FolderStorage(folder).identity()] * 6)
    assert len(set(names)) == 1


def test_an_export_reports_a_folder_that_cannot_be_used(ask, storage, run):
    storage.parent.mkdir(exist_ok=True)
    storage.write_text("a file where the folder should be")
    export = run(ask())
    assert (export.status, export.error_code) == ("pending", "storage_unavailable")
    with pytest.raises(StorageAway):
        storing.place()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_c45_an_export_that_waits_for_space_reports_it(api, ask, run, scored, monkeypatch, number):
    scored(1)

    def full(*arguments):
        raise OSError(number, "no space")

    monkeypatch.setattr(FolderStorage, "_save", full)
    export = run(ask())
    shown = api.get(f"/exports/{export.public_id}").json()["export"]
    assert (shown["status"], shown["error"]["code"]) == ("pending", "storage_full")
    monkeypatch.undo()
    Export.objects.update(leased_until=None)
    export = run(export)
    assert (export.status, export.error_code) == ("completed", "")


def test_an_export_that_waits_for_its_storage_reports_it(api, ask, run, scored, monkeypatch):
    scored(1)

    def away(*arguments):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(FolderStorage, "_save", away)
    export = run(ask())
    assert api.get(f"/exports/{export.public_id}").json()["export"]["error"]["code"] == running.STORAGE_AWAY[0]
