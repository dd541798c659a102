"""The daily clean-up of addresses for callbacks."""

from datetime import timedelta

import pytest
from django.utils import timezone

from scores import jobs
from scores.callbacks import cleaning
from scores.models import Callback, CallbackItem
from tests.factories import RunFactory

NOW = timezone.now()


@pytest.fixture
def expired(db):
    """`expired(days)`: a callback of one run whose deadline was so many days ago."""
    run = RunFactory()

    def make(days):
        callback = Callback.objects.create(
            grader=run.grader,
            grader_version=run.grader.version,
            token_digest=days.to_bytes(32, "big", signed=True),
            request_id="r",
            signature="s",
            kind="score",
            include_dimensions=True,
            include_explanation=True,
            expires_at=NOW - timedelta(days=days),
        )
        CallbackItem.objects.create(callback=callback, run=run, attempt=1)
        return callback

    return make


def test_callbacks_are_deleted_thirty_days_after_their_deadline(expired):
    kept = [expired(days) for days in (-1, 1, 29)]
    expired(31), expired(400)
    assert cleaning.clean(NOW) == 2
    assert set(Callback.objects.all()) == set(kept)
    assert CallbackItem.objects.count() == 3
    assert cleaning.clean(NOW) == 0


def test_many_callbacks_are_deleted_in_short_statements(expired, monkeypatch):
    monkeypatch.setattr(cleaning, "AT_ONCE", 2)
    for days in range(40, 45):
        expired(days)
    assert cleaning.clean(NOW) == 5


def test_the_job_cleans(expired):
    expired(31)
    jobs.clean_up()
    assert not Callback.objects.exists()
