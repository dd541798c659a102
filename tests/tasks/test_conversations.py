"""The form of a conversation: the simplest one that holds all of it."""

import pytest

from tasks import filling
from tasks.conversations import form_of, system_prompt_in_effect, whole_conversation
from tasks.models import Completion
from tests.factories import CompletionFactory, TaskFactory, public
from tests.support.answering import answered

USER = {"role": "user", "content": "yes"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]


def user(*parts, **members):
    return {"role": "user", "content": list(parts), **members}


TEXT = {"type": "text", "text": "yes"}


@pytest.mark.parametrize(
    ("messages", "form"),
    [
        (None, "prompt"),
        ([USER], "prompt"),
        ([user(TEXT)], "prompt"),
        ([user(TEXT, {"text": "no"})], "prompt"),
        ([{**USER, "name": "", "tool_calls": [], "refusal": None}], "prompt"),
        ([user()], "prompt"),
        ([{"role": "system", "content": "s"}, USER], "chat"),
        ([USER, {"role": "assistant", "content": None}, USER], "chat"),
        ([{**USER, "name": "ann"}], "tools"),
        ([{"role": "assistant", "content": "", "tool_calls": CALLS}, USER], "tools"),
        ([{"role": "tool", "content": "4", "tool_call_id": "c1"}, USER], "tools"),
        ([{"role": "function", "content": "4"}, USER], "tools"),
        ([user({"type": "image_url", "image_url": {}})], "parts"),
        ([user({"type": "image_url", "text": "seen", "image_url": {"url": "u"}})], "parts"),
        ([user({**TEXT, "cache_control": {"type": "ephemeral"}})], "parts"),
        ([user({"type": ["text"], "text": "yes"})], "parts"),
        ([user({"type": "input_audio", "input_audio": {}}), {"role": "tool", "content": "4"}], "parts"),
        ([{"role": "assistant", "content": "a", "reasoning_content": "because"}, USER], "parts"),
        ([{"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}, USER], "parts"),
        ([{"role": "assistant", "content": "", "tool_calls": {"0": CALLS}}, USER], "parts"),
        ([{**USER, "name": {"first": "ann"}}], "parts"),
        ([{**USER, "weight": 0}], "parts"),
    ],
)
def test_the_form_is_the_simplest_that_preserves_everything(messages, form):
    assert form_of(messages) == form


@pytest.mark.parametrize(
    ("messages", "system_prompt", "in_effect"),
    [
        (None, None, None),
        (None, "", None),
        (None, "Be brief.", "Be brief."),
        ([USER], "Be brief.", "Be brief."),
        ([{"role": "system", "content": ""}, USER], "Be brief.", None),
        ([{"role": "developer", "content": "d"}, USER], "Be brief.", None),
        ([USER, {"role": "system", "content": "late"}, USER], "Be brief.", "Be brief."),
    ],
)
def test_a_system_message_of_the_conversation_overrides_the_tasks(messages, system_prompt, in_effect):
    assert system_prompt_in_effect(messages, system_prompt) == in_effect
    whole = whole_conversation("yes", messages, system_prompt)
    assert (whole[0] == {"role": "system", "content": in_effect}) == (in_effect is not None)
    assert whole[-1] == USER


@pytest.mark.django_db
def test_intake_stores_the_form_and_digests_under_the_system_prompt(api_for):
    api = api_for(role="training_operator")
    tasks = [TaskFactory(organization=api.organization, system_prompt=text) for text in (None, "a", "b")]
    for task in tasks:
        body = {
            "taskId": public("task", task),
            "modelId": "m",
            "messages": [USER, {**USER, "name": "ann"}],
            "response": "r",
        }
        assert api.post("/completions", body).status_code == 202
    rows = list(Completion.objects.order_by("id"))
    assert {row.form for row in rows} == {"tools"}
    assert len({bytes(row.prompt_digest) for row in rows}) == len({bytes(row.answer_digest) for row in rows}) == 3


@pytest.mark.django_db
def test_live_rewards_store_the_same_digests_as_intake(api_for):
    api = api_for(role="training_operator")
    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    live = {"taskId": public("task", task), "items": [{"prompt": "yes", "response": "r"}], "deadlineMs": 1}
    assert api.post("/rewards", live).status_code in (200, 202)
    assert api.post("/completions", {"taskId": live["taskId"], "modelId": "m", "prompt": "yes", "response": "r"})
    first, second = Completion.objects.order_by("id")
    assert (bytes(first.prompt_digest), first.form) == (bytes(second.prompt_digest), second.form)


@pytest.fixture
def older(db):
    """Completions of which one has everything, a chat has no form, and one under a system prompt has no digests."""
    task, briefed = TaskFactory(), TaskFactory(system_prompt="Be brief.")
    rows = [answered(task, "yes", "r", 0.5), answered(task, "yes", "r", 0.5, messages=[USER, USER])]
    rows.append(answered(briefed, "yes", "r", 0.5))
    Completion.objects.filter(pk=rows[1].pk).update(form=None)
    Completion.objects.filter(pk=rows[2].pk).update(prompt_digest=None, answer_digest=None)
    return rows


def test_the_job_fills_forms_and_digests_that_are_missing(older):
    expected = {row.pk: (bytes(row.prompt_digest), bytes(row.answer_digest)) for row in older}
    assert filling.work() == 2
    assert list(Completion.objects.order_by("id").values_list("form", flat=True)) == ["prompt", "chat", "prompt"]
    for row in Completion.objects.all():
        assert (bytes(row.prompt_digest), bytes(row.answer_digest)) == expected[row.pk]
    assert filling.work() == 0


def test_rows_that_an_older_process_stores_get_their_form(older):
    Completion.objects.update(form=None)
    assert filling.work() == 3
    assert set(Completion.objects.values_list("form", flat=True)) == {"prompt", "chat"}


@pytest.mark.django_db
def test_a_row_stored_individually_has_its_form():
    assert CompletionFactory(messages=[USER, USER]).form == "chat"
    assert CompletionFactory(prompt=None, response=None).form is None
