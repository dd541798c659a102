"""Exports put the system prompt of a task before each conversation that has none of its own."""

import json

import pytest

from scores.results import comparisons
from tests.exports.exported import lines, metadata, pairs
from tests.factories import TaskFactory
from tests.support.answering import answered

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


def test_c18_the_system_prompt_of_the_task_comes_first(api):
    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    for value in (0.1, 0.9):
        answered(task, "2 + 2?", f"{value}", value)
    system = {"role": "system", "content": "Be brief."}
    whole = [system, {"role": "user", "content": "2 + 2?"}]
    (pair,) = lines(api, "layout=preferences&conversational=true")
    assert pair["prompt"] == whole
    assert {json.dumps(row["prompt"]) for row in lines(api, "layout=kto&conversational=true")} == {json.dumps(whole)}
    assert [json.loads(row["messages"]) for row in lines(api, "layout=records")] == [whole, whole]
    (row,) = lines(api, "layout=verl")
    assert row["prompt"] == json.loads(row["extra_info"]["messages"]) == whole
    assert pairs(api, task, conversational=True)["pairs"][0]["prompt"] == whole
    (plain,) = lines(api, "layout=preferences")  # a task's own system prompt leaves no row out
    assert plain["prompt"] == "2 + 2?"
    facts = metadata(api, "layout=preferences")
    assert (facts["leftOut"], facts["systemPromptVersions"]) == (0, [task.version.public_id])


@pytest.mark.parametrize("role", ["system", "developer"])
def test_c18_a_conversation_with_a_system_message_of_its_own_keeps_it(api, role):
    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    own = [{"role": role, "content": "Be long."}, {"role": "user", "content": "2 + 2?"}]
    for value in (0.1, 0.9):
        answered(task, "2 + 2?", f"{value}", value, messages=own)
    assert lines(api, "layout=preferences&conversational=true")[0]["prompt"] == own
    assert json.loads(lines(api, "layout=records")[0]["messages"]) == own
    assert lines(api, "layout=verl")[0]["prompt"] == own


def test_c18_answers_under_different_system_prompts_never_make_a_pair(api):
    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    answered(task, "2 + 2?", "4", 0.9)
    own = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
    answered(task, "2 + 2?", "four", 0.1, messages=[{"role": "system", "content": "Be long."}, own[1]])
    assert pairs(api, task, conversational=True)["available"] == 0
    answered(task, "2 + 2?", "5", 0.2, messages=own)  # the same conversation, sent whole
    assert pairs(api, task, conversational=True)["available"] == 1
    assert len(lines(api, "layout=verl")) == 2


def test_c18_the_comparison_of_models_counts_prompts_by_their_system_prompt(api):
    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    answered(task, "2 + 2?", "4", 0.9)
    answered(task, "2 + 2?", "4", 0.9, messages=[{"role": "system", "content": "No."}, {"role": "user", "content": "2 + 2?"}])  # fmt: skip
    (model,) = comparisons.of_task(task.pk).models
    assert (model.count, model.prompts) == (2, 2)
