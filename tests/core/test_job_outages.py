"""A job ends without a traceback while the database is away; every other error is still reported."""

import pytest
from django.db import InterfaceError, OperationalError, ProgrammingError

from autotune.celery import Job, app


@pytest.fixture
def job():
    def make(exc):
        @app.task(name=f"tests.outage.{type(exc).__name__}", shared=False)
        def fail() -> None:
            raise exc

        names.append(fail.name)
        return fail

    names: list[str] = []
    yield make
    for name in names:
        app.tasks.pop(name, None)


@pytest.mark.parametrize("exc", [OperationalError("away"), InterfaceError("closed")])
def test_c29_a_job_ends_quietly_while_the_database_is_away(job, exc):
    task = job(exc)
    assert isinstance(task, Job)
    assert task() is None


def test_any_other_error_is_raised(job):
    with pytest.raises(ProgrammingError):
        job(ProgrammingError("a fault of ours"))()


@pytest.mark.django_db
def test_every_autotune_job_has_this_base_class():
    app.loader.import_default_modules()
    jobs = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert len(jobs) > 15
    assert all(isinstance(task, Job) for task in jobs)
