"""An export job completes without its damaged rows, and reports how many there were."""

import pytest

from tests.exports.jobs.conftest import content_of, download, rows
from tests.exports.test_damaged_rows import answer_pair, damage, new_version
from tests.factories import TaskFactory

pytestmark = pytest.mark.django_db
BODIES = [{"layout": "preferences"}, {"layout": "preferences", "conversational": True}, {"layout": "verl"}]
ALL_BODIES = pytest.mark.parametrize("body", BODIES, ids=["preferences", "conversational", "verl"])


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization, system_prompt="Be brief.")


@pytest.fixture
def prompts(task):
    return {prompt: answer_pair(task, prompt) for prompt in ("first", "second", "third")}


def assert_completed(api, export, kept, **reasons):
    assert (export.status, export.rows, export.left_out) == ("completed", kept, sum(reasons.values()))
    assert len(rows(content_of(download(api, export)))) == kept
    answer = api.get(f"/exports/{export.public_id}").json()["export"]
    assert answer["leftOutByReason"] == answer["metadata"]["leftOutByReason"] == reasons


@ALL_BODIES
def test_a_job_leaves_a_damaged_prompt_out_and_counts_it(api, ask, run, prompts, body):
    damage(prompts["second"][1], "prompt")
    assert_completed(api, run(ask(**body)), 2, unreadable=1)


@pytest.mark.parametrize("body", BODIES[:2], ids=["preferences", "conversational"])
def test_a_job_leaves_a_damaged_response_out_and_counts_it(api, ask, run, prompts, body):
    damage(prompts["second"][0], "response")
    assert_completed(api, run(ask(**body)), 2, unreadable=1)


@ALL_BODIES
def test_a_job_leaves_the_rows_of_a_damaged_task_version_out_and_counts_them(api, ask, run, task, prompts, body):
    damaged = task.version
    new_version(task, "Be kind.")
    answer_pair(task, "fourth")
    damage(damaged, "content")
    assert_completed(api, run(ask(**body)), 1, unreadable=3)


@pytest.mark.usefixtures("small_parts")
@ALL_BODIES
def test_a_job_adds_up_the_damaged_rows_of_its_parts(api, ask, run, monkeypatch, settings, task, prompts, body):
    settings.EXPORT_PART_ROWS = 1
    monkeypatch.setattr("exports.reading.prompts.TEXT_BYTES", 1)
    for n in range(4):
        answer_pair(task, f"prompt {n}")
    damage(prompts["first"][1], "prompt")
    damage(prompts["third"][1], "prompt")
    export = run(ask(**body))
    assert (export.status, export.rows, export.left_out) == ("completed", 5, 2)
    assert export.left_out_by_reason == {"unreadable": 2}
