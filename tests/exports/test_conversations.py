"""Exports keep conversations whole: a row carries all of it, or is left out and counted by reason."""

import json

import pytest

from exports.layouts import preferences
from exports.reading import prompts, ranges
from tasks.models import Completion
from tests.exports.exported import lines, metadata, pairs, parquet, parquet_metadata
from tests.factories import TaskFactory
from tests.support.answering import answered

pytestmark = pytest.mark.django_db
FLIGHT = [
    {"role": "user", "content": "Book a flight to Oslo?"},
    {"role": "assistant", "content": "At nine?"},
    {"role": "user", "content": "yes"},
]
DELETE = [
    {"role": "user", "content": "Delete everything?"},
    {"role": "assistant", "content": "All of it?"},
    {"role": "user", "content": "yes"},
]
CALLS = [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":2,"b":2}'}}]
TOOLS = [
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": None, "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "c1", "content": "4"},
    {"role": "user", "content": "So?"},
]
IMAGE = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {}}]}]
SCHEMAS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


@pytest.fixture
def api(api_for):
    return api_for(role="training_operator")


@pytest.fixture
def task(api):
    return TaskFactory(organization=api.organization)


@pytest.fixture
def yes(task):
    """Two conversations that end in the same word."""
    answered(task, "yes", "Booked.", 1.0, messages=FLIGHT)
    answered(task, "yes", "Deleted.", 0.0, messages=DELETE)
    return task


def test_c5_records_carry_the_whole_conversation(api, yes):
    rows = lines(api, "layout=records")
    assert [(json.loads(row["messages"]), row["score"]) for row in rows] == [(FLIGHT, 1.0), (DELETE, 0.0)]
    assert list(rows[0])[:3] == ["prompt", "messages", "response"]
    assert parquet(api, "layout=records").column("messages").to_pylist() == [row["messages"] for row in rows]
    assert [row["messages"] for row in lines(api, "conversational=true")] == [FLIGHT, DELETE]


def test_c5_plain_pairs_leave_conversations_out_and_count_them(api, yes):
    assert lines(api, "layout=preferences") == []
    facts = metadata(api, "layout=preferences")
    assert (facts["totalRecords"], facts["leftOut"], facts["leftOutByReason"]) == (0, 2, {"conversation": 2})
    answer = pairs(api, yes)
    assert answer == {"pairs": [], "available": 0, "leftOut": 2, "leftOutByReason": {"conversation": 2}}


def test_c5_plain_kto_leaves_conversations_out_and_counts_them(api, yes):
    answered(yes, "yes", "Yes what?", 0.5)
    assert [row["completion"] for row in lines(api, "layout=kto")] == ["Yes what?"]
    facts = metadata(api, "layout=kto")
    assert (facts["totalRecords"], facts["leftOut"], facts["leftOutByReason"]) == (1, 2, {"conversation": 2})
    assert parquet_metadata(api, "layout=kto")["leftOutByReason"] == {"conversation": 2}
    assert len(lines(api, "layout=kto&conversational=true")) == 3


def test_c5_only_equal_conversations_make_a_pair(api, yes):
    assert pairs(api, yes, conversational=True)["pairs"] == []
    answered(yes, "yes", "Booking failed.", 0.2, messages=FLIGHT)
    (pair,) = pairs(api, yes, conversational=True)["pairs"]
    assert pair == {
        "prompt": FLIGHT,
        "chosen": [{"role": "assistant", "content": "Booked."}],
        "rejected": [{"role": "assistant", "content": "Booking failed."}],
        "chosenScore": 1.0,
        "rejectedScore": 0.2,
    }
    (row,) = lines(api, "layout=preferences&conversational=true")
    assert row["prompt"] == FLIGHT


def test_one_user_message_of_one_text_part_is_a_plain_prompt(api, task):
    sole = [{"role": "user", "content": [{"type": "text", "text": "yes"}]}]
    for value in (0.1, 0.9):
        answered(task, "yes", f"{value}", value, messages=sole)
    (row,) = lines(api, "layout=preferences")
    assert row["prompt"] == "yes"
    assert metadata(api, "layout=preferences")["leftOut"] == 0


def test_the_task_of_a_stranger_counts_nothing(api, api_for, yes):
    assert metadata(api_for(role="training_operator"), "layout=kto")["leftOut"] == 0


def test_c7_tool_turns_are_left_out_and_counted_without_tools(api, task):
    for value in (0.1, 0.9):
        answered(task, "So?", f"{value}", value, messages=TOOLS)
    for query, count in (
        ("layout=preferences", 2), ("layout=preferences&conversational=true", 2), ("layout=kto", 2),
        ("layout=kto&conversational=true", 2), ("layout=records&conversational=true", 2),
    ):  # fmt: skip
        facts = metadata(api, query)
        assert (facts["totalRecords"], facts["leftOutByReason"]) == (0, {"tools": count}), query
    assert parquet_metadata(api, "layout=verl") == {"leftOut": 1, "leftOutByReason": {"tools": 1}, "totalRecords": 0}


@pytest.mark.parametrize("layout", ["records", "preferences", "kto"])
def test_c7_tools_carry_calls_and_results_whole(api, task, layout):
    for value in (0.1, 0.9):
        answered(task, "So?", f"{value}", value, messages=TOOLS, metadata={"tools": SCHEMAS})
    query = f"layout={layout}&conversational=true&tools=true"
    rows = lines(api, query)
    prompt = rows[0]["messages" if layout == "records" else "prompt"]
    empty = {"name": "", "tool_call_id": "", "tool_calls": ""}
    assert prompt[0] == {"role": "user", "content": "2 + 2?", **empty}
    assert (prompt[1]["content"], json.loads(prompt[1]["tool_calls"])) == ("", CALLS)
    assert prompt[2] == {"role": "tool", "content": "4", "name": "", "tool_call_id": "c1", "tool_calls": ""}
    assert json.loads(rows[0]["tools"]) == SCHEMAS
    table = parquet(api, query).to_pylist()
    assert [row["tools"] for row in table] == [row["tools"] for row in rows]
    assert table[0]["messages" if layout == "records" else "prompt"] == prompt
    if layout != "records":
        answer = rows[0]["chosen" if layout == "preferences" else "completion"]
        assert answer == [{"role": "assistant", "content": answer[0]["content"], **empty}]


def test_c7_answers_with_different_offered_tools_make_no_pair(api, task):
    answered(task, "So?", "a", 0.9, messages=TOOLS, metadata={"tools": SCHEMAS})
    answered(task, "So?", "b", 0.1, messages=TOOLS)
    facts = metadata(api, "layout=preferences&conversational=true&tools=true")
    assert (facts["totalRecords"], facts["leftOutByReason"]) == (0, {"tools_differ": 1})


def test_c7_only_the_messages_of_records_include_images(api, task):
    for value in (0.1, 0.9):
        answered(task, "What is it?", f"{value}", value, messages=IMAGE)
    assert [json.loads(row["messages"]) for row in lines(api, "layout=records")] == [IMAGE, IMAGE]
    for layout in ("records", "preferences", "kto"):
        assert lines(api, f"layout={layout}&conversational=true&tools=true") == []
        facts = metadata(api, f"layout={layout}&conversational=true&tools=true")
        assert facts["leftOutByReason"] == {"parts": 2}
    assert parquet_metadata(api, "layout=verl")["leftOutByReason"] == {"parts": 1}


def test_left_out_rows_are_counted_in_every_batch(api, task, monkeypatch):
    monkeypatch.setattr(prompts, "RANGE_ROWS", 5)
    monkeypatch.setattr(preferences, "RANGE_PAIRS", 3)
    monkeypatch.setattr(prompts, "TEXT_BYTES", 900)
    monkeypatch.setattr(ranges, "TEXT_BYTES", 900)
    for n in range(24):
        messages = (None, FLIGHT, TOOLS)[n % 3]
        messages = messages and [{"role": "user", "content": f"talk {n // 6}"}, *messages]
        answered(task, f"prompt {n // 6}", f"answer {n}", n / 24, messages=messages)
    for layout in ("preferences", "kto"):
        facts = metadata(api, f"layout={layout}")
        assert facts["leftOutByReason"] == {"conversation": 8, "tools": 8}, layout
    assert parquet_metadata(api, "layout=verl") == {"leftOut": 4, "leftOutByReason": {"tools": 4}, "totalRecords": 8}


@pytest.mark.parametrize("layout", ["preferences", "preferences&strategy=all", "kto", "verl"])
def test_left_out_rows_add_up_when_reading_continues_from_any_cursor(api, task, monkeypatch, layout):
    from autotune.access.principal import Principal
    from exports import layouts
    from exports.requests import ExportQuery
    from scores.results import filters

    monkeypatch.setattr(prompts, "RANGE_ROWS", 5)
    monkeypatch.setattr(preferences, "RANGE_PAIRS", 3)
    monkeypatch.setattr(prompts, "TEXT_BYTES", 700)
    monkeypatch.setattr(ranges, "TEXT_BYTES", 700)
    for n in range(30):
        messages = TOOLS if n % 2 else None
        answered(task, f"prompt {n // 6}", f"answer {n}", n / 30, messages=messages and [*messages[:-1], {"role": "user", "content": str(n // 6)}])  # fmt: skip
    first = Completion.objects.order_by("id")[0].pk
    Completion.objects.filter(pk=first).update(prompt_digest=None, answer_digest=None)
    name, _, strategy = layout.partition("&strategy=")
    key = api.api_key
    query = ExportQuery(layout=name, strategy=strategy or None)

    def batches(after=""):
        selection = filters.check(query, Principal(key.organization, key.role, key.user, key))
        return list(layouts.layout(query, selection).batches(after))

    whole = batches()
    total = sum(batch.left_out for batch in whole)
    assert total == sum(sum(batch.reasons.values()) for batch in whole)
    assert total == {"preferences": 16, "kto": 15, "verl": 6}[name]
    before = 0
    for batch in whole:
        before += batch.left_out
        assert len(batch.cursor) <= 64
        assert before + sum(rest.left_out for rest in batches(batch.cursor)) == total


def test_a_row_whose_form_is_not_known_yet_is_counted(api, task):
    from tasks import filling

    for value in (0.1, 0.9):
        answered(task, "yes", f"{value}", value, messages=FLIGHT)
    Completion.objects.update(form=None)
    for layout in ("preferences", "kto"):
        facts = metadata(api, f"layout={layout}&conversational=true")
        assert (facts["totalRecords"], facts["leftOutByReason"]) == (0, {"unsorted": 2})
    assert [json.loads(row["messages"]) for row in lines(api, "layout=records")] == [FLIGHT, FLIGHT]
    assert filling.work() == 2
    assert len(lines(api, "layout=preferences&conversational=true")) == 1


def test_c8_a_null_in_the_metadata_is_not_a_ground_truth(api, task):
    for name, members in (
        ("null", {"answer": None}), ("later", {"answer": None, "label": "4"}), ("text", {"answer": "null"}),
        ("false", {"answer": False}), ("zero", {"ground_truth": 0}), ("ability", {"ability": None}),
    ):  # fmt: skip
        answered(task, name, "x", 0.5, metadata=members)
    truths = {
        row["extra_info"]["prompt_text"]: row["reward_model"]["ground_truth"] for row in lines(api, "layout=verl")
    }
    assert truths == {"null": "", "later": "4", "text": "null", "false": "false", "zero": "0", "ability": ""}


def test_c6_a_verl_row_includes_the_history(api, task):
    answered(task, "yes", "Booked.", 1.0, messages=FLIGHT)
    (row,) = lines(api, "layout=verl")
    assert row["prompt"] == json.loads(row["extra_info"]["messages"]) == FLIGHT
    assert row["extra_info"]["prompt_text"] == "yes"
