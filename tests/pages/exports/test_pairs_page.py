"""The preview of preference pairs."""

from autotune.access.models import AuditEvent
from exports.pages.pairs import SHOWN
from tests.factories import TaskFactory, public


def test_without_a_task_it_asks_for_one(operator, see):
    seen = see(operator, "/pairs")
    assert seen.status == 200
    assert "Choose a task" in seen
    assert "faults" not in seen.html


def test_better_and_worse_answers_are_shown_side_by_side_with_their_margin(operator, task, scored, see):
    scored(9)
    seen = see(operator, "/pairs", taskId=public("task", task), minScoreDelta="0.6")
    assert "3 pairs in all; 3 of them are shown" in seen
    assert "margin 0.600" in seen
    assert seen.text.index("Chosen 0.7") < seen.text.index("Rejected 0.1") or "Chosen 0.8" in seen


def test_it_links_to_an_export_with_the_same_options(operator, task, scored, see):
    scored(9)
    seen = see(operator, "/pairs", taskId=public("task", task), strategy="all", capPerPrompt="5", minScoreDelta="0.2")
    link = f"/exports/new?layout=preferences&amp;minScoreDelta=0.2&amp;taskId={public('task', task)}&amp;strategy=all&amp;capPerPrompt=5"
    assert link in seen.html
    assert "Correct these fields" not in see(operator, link.replace("&amp;", "&"))


def test_a_task_of_another_organization_is_not_found(operator, see):
    seen = see(operator, "/pairs", taskId=public("task", TaskFactory()))
    assert "There is no such task" in seen
    assert "pairs in all" not in seen


def test_without_pairs_the_page_says_what_to_change(operator, task, scored, see):
    scored(2)
    assert "Reduce the difference" in see(operator, "/pairs", taskId=public("task", task), minScoreDelta="0.9")


def test_hostile_texts_are_text(operator, task, scored, see):
    scored(2, prompt="<script>alert(1)</script>\u202e")
    seen = see(operator, "/pairs", taskId=public("task", task))
    assert "1 pair in all" in seen
    assert "<script>alert" not in seen.html


def test_code_in_an_answer_is_set_apart(operator, task, scored, see):
    scored(6, response="So:\n\n```python\nx = 1\n```")
    seen = see(operator, "/pairs", taskId=public("task", task))
    assert 'class="code-block"' in seen.html
    assert "```" not in seen


def test_a_long_answer_is_truncated_and_marked(operator, task, scored, see):
    scored(6, response="a" * (SHOWN + 1_234))
    assert "1,234 more characters" in see(operator, "/pairs", taskId=public("task", task))


def test_the_page_takes_few_queries(operator, task, scored, django_assert_max_num_queries):
    scored(9)
    with django_assert_max_num_queries(20):
        assert operator.get("/pairs", {"taskId": public("task", task)}).status_code == 200


def test_the_audit_log_records_the_task_and_the_number_of_pairs(operator, task, scored, see):
    scored(9)
    seen = see(operator, "/pairs", taskId=public("task", task))
    event = AuditEvent.objects.get(action="pairs.read")
    assert (event.object_id, event.objects_count) == (public("task", task), seen.html.count(">Pair "))


def test_answers_are_formatted_or_raw(operator, task, scored, see):
    scored(6, response="**Yes**, $x^2$")
    seen = see(operator, "/pairs", taskId=public("task", task), minScoreDelta="0.1")
    assert "<strong>Yes</strong>" in seen.html
    assert "<msup>" in seen.html
    raw = see(operator, "/pairs", taskId=public("task", task), minScoreDelta="0.1", view="raw")
    assert "**Yes**, $x^2$" in raw
    assert "<msup>" not in raw.html
