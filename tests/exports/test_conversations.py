"""Exports keep conversations whole: a row carries all of it, or is left out and counted by reason."""

import io
import json

import pyarrow.parquet as pq
import pytest

from exports.layouts import preferences
from exports.reading import prompts, ranges
from scores.retention import erasing
from tasks.models import Completion
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.answering import answered, rewarded

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


def body(api, query):
    response = api.get(f"/scores/export?{query}")
    assert response.status_code == 200, response.content
    return b"".join(response.streaming_content)


def lines(api, query):
    return [json.loads(line) for line in body(api, query).splitlines()]


def metadata(api, query):
    return json.loads(body(api, f"{query}&format=json"))["metadata"]


def parquet(api, query):
    return pq.read_table(io.BytesIO(body(api, f"{query}&format=parquet")))


def parquet_metadata(api, query):
    raw = parquet(api, query).schema.metadata
    return {name: json.loads(raw[name.encode()]) for name in ("leftOut", "leftOutByReason", "totalRecords")}


def pairs(api, task, **members):
    request = {"taskId": public("task", task), "minScoreDelta": 0.1, "sampleSize": 10, **members}
    answer = api.post("/preference-pairs", request)
    assert answer.status_code == 200, answer.content
    return answer.json()


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


def test_c11_a_panel_has_the_same_names_on_every_row(api):
    graders = [GraderFactory(organization=api.organization) for _ in range(2)]
    task = TaskFactory(organization=api.organization, graders=graders)

    def score_completion(*dimensions):
        completion = CompletionFactory(task=task)
        for grader, values in zip(graders, dimensions, strict=True):
            entries = [{"name": name, "value": value, "weight": None} for name, value in values.items()]
            ScoreFactory(run__completion=completion, run__grader=grader, dimensions=entries or None, reward=False)
        rewarded(completion, 0.5)

    score_completion({"tone": 1}, {"style": 0.5})
    score_completion({"tone": 0.25}, {"tone": 0.75})
    score_completion({}, {})
    expected = [{"style": 0.5, "tone": 1.0}, {"style": None, "tone": 0.5}, {"style": None, "tone": None}]
    assert [row["dimensions"] for row in lines(api, "dimensions=true")] == expected
    columns = lines(api, "dimensionColumns=true")
    assert [{name: row[f"dimension_{name}"] for name in ("style", "tone")} for row in columns] == expected
    assert [dict(row) for row in parquet(api, "dimensions=true").column("dimensions").to_pylist()] == expected


def test_c11_a_newer_score_of_a_panel_replaces_its_dimensions(api):
    grader, other = (GraderFactory(organization=api.organization) for _ in range(2))
    task = TaskFactory(organization=api.organization, graders=[grader, other])
    completion = CompletionFactory(task=task)
    for value in (0.25, 0.75):
        ScoreFactory(
            run=RunFactory(completion=completion, grader=grader, status="completed", generation=int(value > 0.5)),
            dimensions=[{"name": "tone", "value": value, "weight": None}], reward=False,
        )  # fmt: skip
    rewarded(completion, 0.5)
    (row,) = lines(api, "dimensions=true")
    assert row["dimensions"] == {"tone": 0.75}


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r", "\n"])
def test_c15_no_character_of_a_text_ends_a_line(api, task, separator):
    text = f'a{separator}b\\{separator}"{separator}'
    answered(task, text, text, 0.5, model_id=f"m{separator}", external_id=text, metadata={"k": text})
    for query in ("layout=records&include=metadata", "layout=kto", "layout=verl", "layout=records&conversational=true"):
        raw = body(api, query)
        assert len(raw.decode().splitlines()) == 1, query
        row = json.loads(raw)
    assert (row["prompt"], row["response"], row["messages"][0]["content"]) == (text, text, text)
    assert row["metadata"]["external_id"] == text


def test_c15_the_bytes_of_other_characters_stay_unchanged(api, task):
    text = "…\u2027\u202a\u0084\u0086Ā\u0145é😀"
    answered(task, text, text, 0.5)
    raw = body(api, "layout=kto")
    assert text.encode() in raw


def test_c17_a_row_identifies_its_submission(api, task):
    body_ = {
        "taskId": public("task", task), "modelId": "m", "variables": {"question": "2 + 2?"}, "response": "4",
        "externalId": "row-7", "metadata": {"difficulty": 3},
    }  # fmt: skip
    assert api.post("/completions", body_).status_code == 202
    assert api.post("/completions", {"taskId": body_["taskId"], "modelId": "m", "prompt": "3 + 3?", "response": "6"})
    for completion in Completion.objects.order_by("id"):
        rewarded(completion, 0.5)
    first, second = lines(api, "layout=records&include=metadata,variables")
    assert (first["metadata"]["external_id"], second["metadata"]["external_id"]) == ("row-7", "")
    assert (first["metadata"]["reused_from"], second["metadata"]["reused_from"]) == ("", "")
    assert (json.loads(first["completion_metadata"]), json.loads(second["completion_metadata"])) == (
        {"difficulty": 3},
        {},
    )
    assert (json.loads(first["variables"]), json.loads(second["variables"])) == ({"question": "2 + 2?"}, {})
    assert [row["metadata"]["external_id"] for row in lines(api, "layout=kto")] == ["row-7", ""]
    (only,) = [row for row in lines(api, "include=variables&naming=camel") if row["metadata"]["externalId"]]
    assert list(only)[-2:] == ["variables", "metadata"]
    assert "completionMetadata" in lines(api, "include=metadata&naming=camel")[0]


def test_c17_variables_are_erased_with_the_text(api, task):
    api.post(
        "/completions",
        {"taskId": public("task", task), "modelId": "m", "variables": {"question": "secret"}, "response": "4"},
    )
    completion = Completion.objects.get()
    assert completion.variables == {"question": "secret"}
    erasing.erase([completion.pk], end_unfinished=True)
    assert Completion.objects.filter(variables__isnull=True).count() == 1


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
    from scores.results import comparisons

    task = TaskFactory(organization=api.organization, system_prompt="Be brief.")
    answered(task, "2 + 2?", "4", 0.9)
    answered(task, "2 + 2?", "4", 0.9, messages=[{"role": "system", "content": "No."}, {"role": "user", "content": "2 + 2?"}])  # fmt: skip
    (model,) = comparisons.of_task(task.pk).models
    assert (model.count, model.prompts) == (2, 2)
