"""Exports that are cancelled."""

import pytest

from exports.models import ExportFile
from exports.work import ending, parts, running
from tests.exports.jobs.conftest import claim, download, files_in

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("small_parts")
def test_cancelled_in_the_middle(api, scored, ask, storage, monkeypatch, django_capture_on_commit_callbacks):
    scored(5)
    export = ask()
    real = parts.commit

    def cancelled_after_the_first(mine, part):
        if part.number == 1:
            with django_capture_on_commit_callbacks(execute=True):
                assert api.post(f"/exports/{export.public_id}/cancel").status_code == 200
        return real(mine, part)

    monkeypatch.setattr(parts, "commit", cancelled_after_the_first)
    running.work()
    export.refresh_from_db()
    assert (export.status, export.file_key, export.leased_until) == ("cancelled", None, None)
    assert ExportFile.objects.count() == 0
    assert files_in(storage) == []
    assert download(api, export).json()["code"] == "export_cancelled"


def test_cancelling_twice_and_too_late(api, ask, run):
    export = ask()
    for _ in range(2):
        answer = api.post(f"/exports/{export.public_id}/cancel")
        assert (answer.status_code, answer.json()["export"]["status"]) == (200, "cancelled")
    done = run(ask())
    answer = api.post(f"/exports/{done.public_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "export_over")


def test_cancelling_in_the_admin_skips_exports_that_ended_in_between(ask, run, admin_client, monkeypatch):
    over, open_ = ask(), ask()
    real = ending.cancel

    def after_a_worker(export_id):
        if export_id == over.pk:
            ending.fail(claim(), "internal_error", "It failed.")
        return real(export_id)

    monkeypatch.setattr(ending, "cancel", after_a_worker)
    chosen = {"action": "cancel", "_selected_action": [over.pk, open_.pk], "confirmed": "yes"}
    page = admin_client.post("/admin/exports/export/", chosen, follow=True)
    assert "1 cancelled; 1 refused" in " ".join(str(message) for message in page.context["messages"])
    over.refresh_from_db()
    open_.refresh_from_db()
    assert (over.status, open_.status) == ("failed", "cancelled")
