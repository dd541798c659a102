"""The pages of exports and pairs say which conversations are left out, and what to ask for instead."""

import pytest

from tests.answering import answered
from tests.factories import ExportFactory, public

CHAT = [
    {"role": "user", "content": "Delete everything?"},
    {"role": "assistant", "content": "All of it?"},
    {"role": "user", "content": "yes"},
]
TOOLS = [{"role": "tool", "tool_call_id": "c1", "content": "4"}, {"role": "user", "content": "yes"}]


@pytest.fixture
def talks(task):
    for n, messages in enumerate((None, None, CHAT, CHAT, CHAT, TOOLS)):
        answered(task, "yes", f"answer {n}", n / 10, messages=messages)


@pytest.mark.usefixtures("talks")
@pytest.mark.parametrize(("layout", "rows"), [("preferences", "1 pair"), ("kto", "2 rows")])
def test_c5_the_preview_counts_them_and_names_the_parameter(operator, task, see, layout, rows):
    seen = see(operator, "/exports/new", taskId=public("task", task), layout=layout)
    assert rows in seen
    assert "3 Conversations of several messages: ask with conversational=true." in seen
    assert "1 Tool calls, results of tools or named speakers: ask with conversational=true and tools=true." in seen


@pytest.mark.usefixtures("talks")
def test_c5_what_is_asked_for_is_in_the_preview(operator, task, see):
    seen = see(operator, "/exports/new", taskId=public("task", task), layout="preferences", conversational="true")
    assert "2 pairs" in seen
    assert "Conversations of several messages" not in seen.html.partition('id="count"')[2].partition("</ul>")[0]
    seen = see(operator, "/exports/new", taskId=public("task", task), layout="kto", conversational="true", tools="true")
    assert "6 rows" in seen
    assert "tool_call_id" in seen


@pytest.mark.usefixtures("talks")
def test_c7_prompts_for_verl_leave_tool_turns_out(operator, task, see):
    seen = see(operator, "/exports/new", taskId=public("task", task), layout="verl")
    assert "2 prompts" in seen
    assert "which layout=verl has no columns for" in seen


@pytest.mark.usefixtures("talks")
def test_the_first_rows_are_those_that_fit(operator, task, see):
    for n in range(6):
        answered(task, "early", f"early {n}", 0.5, messages=CHAT)
    answered(task, "fits", "the answer that fits", 0.5)
    seen = see(operator, "/exports/new", taskId=public("task", task), layout="kto")
    assert "the answer that fits" in seen


@pytest.mark.usefixtures("talks")
def test_c17_the_form_offers_what_was_sent(operator, task, see):
    seen = see(operator, "/exports/new", taskId=public("task", task), include="metadata,variables")
    assert "completion_metadata" in seen
    assert "variables" in seen


@pytest.mark.usefixtures("talks")
def test_c5_the_page_of_pairs_counts_them_and_shows_them_when_asked(operator, task, see):
    seen = see(operator, "/pairs", taskId=public("task", task))
    assert "1 pair in all" in seen
    assert "3 Conversations of several messages: ask with conversational=true." in seen
    seen = see(operator, "/pairs", taskId=public("task", task), conversational="true")
    assert "2 pairs in all" in seen
    assert "assistant: All of it?" in seen
    assert "conversational=true" in seen.html  # the link to the export keeps the choice


def test_the_page_of_an_export_says_why_rows_are_left_out(operator, see):
    export = ExportFactory(
        organization=operator.organization, created_by=operator.user, rows=3, left_out=5,
        left_out_by_reason={"conversation": 3}, query={"layout": "kto"}, files={"kto.jsonl": b"{}\n"},
    )  # fmt: skip
    seen = see(operator, f"/exports/{public('exp', export)}")
    assert "3: Conversations of several messages: ask with conversational=true." in seen
    assert "2: The text was erased." in seen
