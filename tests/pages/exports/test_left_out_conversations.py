"""The pages of exports and pairs say which conversations they leave out, and which parameter includes them."""

import pytest

from tests.factories import ExportFactory, public
from tests.support.answering import answered

CHAT = [
    {"role": "user", "content": "Delete everything?"},
    {"role": "assistant", "content": "All of it?"},
    {"role": "user", "content": "yes"},
]
TOOLS = [{"role": "tool", "tool_call_id": "c1", "content": "4"}, {"role": "user", "content": "yes"}]


@pytest.fixture
def conversations(task):
    for n, messages in enumerate((None, None, CHAT, CHAT, CHAT, TOOLS)):
        answered(task, "yes", f"answer {n}", n / 10, messages=messages)


@pytest.mark.usefixtures("conversations")
@pytest.mark.parametrize(("layout", "rows"), [("preferences", "1 pair"), ("kto", "2 rows")])
def test_c5_the_preview_counts_left_out_conversations_and_names_the_parameter(operator, task, see, layout, rows):
    page = see(operator, "/exports/new", taskId=public("task", task), layout=layout)
    assert rows in page
    assert "3 Conversations of several messages: set conversational=true." in page
    assert "1 Tool calls, tool results or named speakers: set conversational=true and tools=true." in page


@pytest.mark.usefixtures("conversations")
def test_c5_the_preview_includes_conversations_with_the_parameter(operator, task, see):
    page = see(operator, "/exports/new", taskId=public("task", task), layout="preferences", conversational="true")
    assert "2 pairs" in page
    assert "Conversations of several messages" not in page.html.partition('id="count"')[2].partition("</ul>")[0]
    page = see(operator, "/exports/new", taskId=public("task", task), layout="kto", conversational="true", tools="true")
    assert "6 rows" in page
    assert "tool_call_id" in page


@pytest.mark.usefixtures("conversations")
def test_c7_verl_prompts_leave_out_tool_turns(operator, task, see):
    page = see(operator, "/exports/new", taskId=public("task", task), layout="verl")
    assert "2 prompts" in page
    assert "layout=verl has no columns for them" in page


@pytest.mark.usefixtures("conversations")
def test_the_first_rows_of_the_preview_fit_the_layout(operator, task, see):
    for n in range(6):
        answered(task, "early", f"early {n}", 0.5, messages=CHAT)
    answered(task, "fits", "the answer that fits", 0.5)
    page = see(operator, "/exports/new", taskId=public("task", task), layout="kto")
    assert "the answer that fits" in page


@pytest.mark.usefixtures("conversations")
def test_c17_the_form_includes_the_submitted_metadata_and_variables(operator, task, see):
    page = see(operator, "/exports/new", taskId=public("task", task), include="metadata,variables")
    assert "completion_metadata" in page
    assert "variables" in page


@pytest.mark.usefixtures("conversations")
def test_c5_the_page_of_pairs_counts_conversations_and_shows_them_with_the_parameter(operator, task, see):
    page = see(operator, "/pairs", taskId=public("task", task))
    assert "1 pair in all" in page
    assert "3 Conversations of several messages: set conversational=true." in page
    page = see(operator, "/pairs", taskId=public("task", task), conversational="true")
    assert "2 pairs in all" in page
    assert "assistant: All of it?" in page
    assert "conversational=true" in page.html  # the link to the export keeps the choice


def test_an_export_page_says_why_rows_are_left_out(operator, see):
    export = ExportFactory(
        organization=operator.organization, created_by=operator.user, rows=3, left_out=5,
        left_out_by_reason={"conversation": 3}, query={"layout": "kto"}, files={"kto.jsonl": b"{}\n"},
    )  # fmt: skip
    page = see(operator, f"/exports/{public('exp', export)}")
    assert "3: Conversations of several messages: set conversational=true." in page
    assert "2: The text was erased." in page
