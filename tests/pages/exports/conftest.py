"""An organization with scored completions, and a storage of its own for the files of exports."""

import hashlib

import pytest

from exports.work import running
from tests.factories import ScoreFactory, TaskFactory
from tests.pages.exports.seeing import Seen


@pytest.fixture(autouse=True)
def storage(settings, tmp_path):
    settings.EXPORT_SCRATCH = tmp_path / "scratch"
    settings.STORAGES = {
        **settings.STORAGES,
        "exports": {
            "BACKEND": "exports.files.folder.FolderStorage",
            "OPTIONS": {"location": str(tmp_path / "exports")},
        },
    }


@pytest.fixture
def operator(visitor):
    return visitor("training_operator")


@pytest.fixture
def task(operator):
    return TaskFactory(organization=operator.organization, name="Contract clauses")


@pytest.fixture
def scored(task):
    """`scored(6)`: so many scored completions of three prompts."""

    def make(count, task=task, **more):
        completions = []
        for n in range(count):
            prompt = more.get("prompt", f"prompt {n % 3}")
            completions.append(
                ScoreFactory(
                    run__completion__task=task,
                    run__completion__prompt=prompt,
                    run__completion__response=more.get("response", f"answer {n}"),
                    run__completion__model_id=more.get("model", "osprey-32b"),
                    run__completion__prompt_digest=hashlib.sha256(prompt.encode()).digest()[:16],
                    run__completion__answer_digest=hashlib.sha256(f"{prompt} {n}".encode()).digest()[:16],
                    value=(n + 1) / 10,
                ).completion
            )
        return completions

    return make


@pytest.fixture
def run(django_capture_on_commit_callbacks):
    """`run(export)`: run it as a worker does; return its current row."""

    def work(export):
        with django_capture_on_commit_callbacks(execute=True):
            running.work()
        export.refresh_from_db()
        return export

    return work


@pytest.fixture
def see():
    """`see(client, path)`: the page, with its text."""
    return lambda client, path, **data: Seen(client.get(path, data))
