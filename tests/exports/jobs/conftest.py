"""Export jobs with a storage of their own."""

import gzip
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from autotune.core import ids
from exports.files.folder import IDENTITY
from exports.models import Export
from exports.work import claims, running
from tests.factories import ScoreFactory, TaskFactory


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    """The local folder that holds the files of exports."""
    folder = tmp_path / "exports"
    settings.EXPORT_SCRATCH = tmp_path / "scratch"
    settings.STORAGES = {
        **settings.STORAGES,
        "exports": {"BACKEND": "exports.files.folder.FolderStorage", "OPTIONS": {"location": str(folder)}},
    }
    return folder


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def scored(task):
    """`scored(5)`: so many scored completions, in the order of their ids."""

    def make(count, task=task, **more):
        return [
            ScoreFactory(
                run__completion__task=task,
                run__completion__prompt=f"p{n} é",
                run__completion__response=f"r{n}",
                value=n % 10 / 10,
                **more,
            ).completion
            for n in range(count)
        ]

    return make


@pytest.fixture
def ask(api):
    """`ask(format="parquet")`: an export of this body, as its row."""

    def post(by=api, **body):
        answer = by.post("/exports", body)
        assert answer.status_code == 202, answer.content
        return Export.objects.get(pk=uuid_of(answer.json()["export"]["id"]))

    return post


@pytest.fixture
def run(django_capture_on_commit_callbacks):
    """`run()`: run due exports, as a worker does. `run(export)`: and return its current row."""

    def work(export=None):
        with django_capture_on_commit_callbacks(execute=True):
            running.work()
        if export is not None:
            export.refresh_from_db()
        return export

    return work


@pytest.fixture
def small_parts(settings, monkeypatch):
    """Parts of two rows, in ranges of one."""
    settings.EXPORT_PART_ROWS = 2
    monkeypatch.setattr("exports.reading.ranges.RANGE_ROWS", 1)


def uuid_of(public_id):

    return ids.decode("exp", public_id)


def download(api, export, query="", **headers):
    return api.get(f"/exports/{export.public_id}/download{query}", **headers)


def content_of(response):
    assert response.status_code in (200, 206), response.content
    return b"".join(response.streaming_content)


def rows(content, compression=None):
    text = gzip.decompress(content) if compression == "gzip" else content
    return [json.loads(line) for line in text.splitlines()]


def files_in(folder):
    """The files of exports, without the file that identifies the folder."""
    if not folder.exists():
        return []
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != IDENTITY)


def claim():
    export = claims.take()
    assert export is not None
    return export


def lease_runs_out(export):
    Export.objects.filter(pk=export.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


def content_ids(api, export):
    return [row["metadata"]["completion_id"] for row in rows(content_of(download(api, export)))]
