"""The version to judge: a run may name a version of its grader, which judges or is gone."""

import pytest

from autotune.core import ids
from graders.hosted import children, judges
from graders.hosted.messages import Judge
from graders.models import GraderVersion, Tally
from graders.states import GraderKind
from scores.models import Score, WorkflowRun
from tests.factories import CompletionFactory, GraderFactory, RunFactory, TaskFactory
from tests.scores.submitting import item


@pytest.fixture(autouse=True)
def _few_children(settings):
    settings.JUDGE_PROCESSES = 2
    children.close()
    yield
    children.close()


@pytest.fixture
def hosted(db, monkeypatch):
    """A hosted grader whose label says how many characters a good response may have; other labels are gone."""

    def prepare(grader, version_id):
        version = GraderVersion.objects.filter(pk=version_id, grader=grader).first()
        return version and Judge("tests.support.rules:by_length", {"most": int(version.label)})

    monkeypatch.setitem(judges._preparations, GraderKind.RUBRIC, prepare)
    return GraderFactory(kind=GraderKind.RUBRIC, endpoint="", max_batch_size=10, version_label="3")


def runs_of(grader, *versions, response="abcd"):
    task = TaskFactory(organization=grader.organization, graders=[grader])
    return [
        RunFactory(completion=CompletionFactory(task=task, response=response), grader_version_id=version)
        for version in versions
    ]


def state(run):
    run.refresh_from_db()
    return run.status, run.error_code


def test_a_run_without_a_version_is_judged_by_the_one_that_the_grader_has(hosted, drain):
    (run,) = runs_of(hosted, None)
    drain(hosted)
    assert (run.score.value, run.score.grader_version_id) == (0.0, hosted.version_id)


def test_a_run_with_a_version_is_judged_by_that_one(hosted, drain):
    older = GraderVersion.objects.create(grader=hosted, label="5")
    named, now = runs_of(hosted, older.pk, None)
    drain(hosted)
    assert (named.score.value, named.score.grader_version_id) == (1.0, older.pk)
    assert (now.score.value, now.score.grader_version_id) == (0.0, hosted.version_id)


def test_runs_with_a_deleted_version_fail_and_the_others_are_judged(hosted, drain):
    gone = GraderVersion.objects.create(grader=hosted, label="9")
    of_another = GraderVersion.objects.create(grader=GraderFactory(), label="9")
    first, good, second, third = runs_of(hosted, gone.pk, None, ids.new(), of_another.pk)
    gone.delete()
    drain(hosted)
    assert [state(run) for run in (first, second, third)] == [("failed", "version_gone")] * 3
    assert first.error_message == "The grader version that the run names no longer exists."
    assert (first.failures, first.attempt) == (1, 1)  # not tried again
    assert state(good) == ("completed", "")


def test_a_deleted_version_does_not_count_as_an_error_of_the_grader(hosted, drain):
    runs_of(hosted, ids.new())
    drain(hosted)
    assert not any(tally.errors for tally in Tally.objects.filter(grader_id=hosted.pk))


@pytest.mark.parametrize("size", [1, 10])
def test_a_service_never_judges_as_another_version_than_its_own(fake, grader, drain, size):
    grader.max_batch_size = size
    grader.save()
    other = GraderVersion.objects.create(grader=grader, label="0.1")
    old, now, current = runs_of(grader, other.pk, None, grader.version_id)
    drain(grader)
    assert state(old) == ("failed", "version_gone")
    assert [state(run) for run in (now, current)] == [("completed", "")] * 2
    assert len(fake.items) == 2
    assert set(Score.objects.values_list("grader_version_id", flat=True)) == {grader.version_id}


def test_new_runs_name_no_version(api_for):
    api = api_for(role="training_operator")
    assert api.post("/completions", item(TaskFactory(organization=api.organization))).status_code == 202
    assert WorkflowRun.objects.get().grader_version_id is None
