"""Pages leave out what the API's readers leave out, and a completion's page says that it is held out."""

import re

import pytest

from scores.counters import folding
from tests.factories import CompletionFactory, RunFactory, ScoreFactory, TaskFactory, public
from tests.support.scoring import add_scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def task():
    task = TaskFactory()
    for value, source, held_out in (
        (0.1, "api", False), (0.2, "manual", False), (0.3, "telemetry", False), (0.4, "evaluation", False),
        (0.9, "api", True),
    ):  # fmt: skip
        add_scores(task, [value], source=source, held_out=held_out)
    return task


@pytest.fixture
def client(visitor, task):
    return visitor("training_operator", task.organization)


def html_of(client, path, **query):
    answer = client.get(path, query)
    assert answer.status_code == 200, answer.content.decode()
    return answer.content.decode()


def scores_on(html):
    return re.findall(r'aria-label="Score ([\d.]+)"', html)


def test_the_list_of_scores_and_its_figures(client, task):
    for fold in (False, True):
        if fold:
            folding.fold()
        answer = client.get("/scores")
        assert scores_on(answer.content.decode()) == ["0.300", "0.200", "0.100"]
        assert answer.context["figures"].count == 3
        answer = client.get("/scores", {"source": "evaluation"})
        assert scores_on(answer.content.decode()) == ["0.400"]
        assert answer.context["figures"].count == 1
    assert "<option selected>evaluation</option>" in answer.content.decode()


def test_an_unknown_source_is_reported_and_ignored(client):
    answer = client.get("/scores", {"source": "people"})
    assert (answer.status_code, list(answer.context["faults"])) == (200, ["source"])
    assert len(scores_on(answer.content.decode())) == 3


def test_the_page_of_a_task_shows_the_figures_of_its_summary(client, task):
    answer = client.get(f"/tasks/{public('task', task)}")
    counts = answer.context["counts"]
    assert (counts.completions, counts.scored, counts.open) == (2, 2, 0)
    assert counts.mean == pytest.approx(0.15)
    assert answer.context["figures"].comparison.count == 2
    assert len(answer.context["recent"]) == 4  # the list of completions includes held-out ones
    row = client.get("/tasks").context["rows"][0]
    assert (row["counts"].completions, row["counts"].mean) == (2, pytest.approx(0.15))


def test_the_list_of_completions(client):
    assert len(client.get("/completions").context["rows"]) == 4
    (row,) = client.get("/completions", {"source": "evaluation"}).context["rows"]
    assert row.completion.source == "evaluation"


def test_a_completions_page_says_that_it_is_held_out(client, task):
    for completion in task.completions.all():
        html = html_of(client, f"/completions/{public('comp', completion)}")
        assert ("Held out." in html) is completion.held_out


def test_other_answers_to_the_prompt_leave_out_held_out_ones(client, task):
    rows = [
        ScoreFactory(
            run__completion=CompletionFactory(task=task, prompt_digest=b"p" * 16, held_out=held_out)
        ).completion
        for held_out in (False, False, True)
    ]
    answer = client.get(f"/completions/{public('comp', rows[0])}")
    assert [sibling.completion for sibling in answer.context["siblings"]] == [rows[1]]


def test_an_ungraded_completion_says_why_it_has_no_score(client, task):
    deck = TaskFactory(organization=task.organization, kind="deck", graders=[])
    completion = CompletionFactory(task=deck)
    answer = client.get(f"/completions/{public('comp', completion)}")
    assert "The task has no graders" in answer.content.decode()
    assert answer.context["live"] == 0
    RunFactory(completion=CompletionFactory(task=task))
    assert [row.completion for row in client.get("/completions", {"status": "ungraded"}).context["rows"]] == [
        completion
    ]
    html_of(client, f"/tasks/{public('task', deck)}")


@pytest.mark.parametrize(
    ("query", "count"),
    [({}, 2), ({"source": "telemetry"}, 1), ({"source": ["api", "evaluation"]}, 2),
     ({"source": "api,manual,telemetry,evaluation"}, 4)],
)  # fmt: skip
def test_the_form_of_exports(client, task, query, count):
    answer = client.get("/exports/new", {"taskId": public("task", task), "layout": "records"} | query)
    if isinstance(query.get("source"), list):
        assert answer.context["form"].errors["source"]  # the form offers no such selection
    else:
        assert answer.context["preview"].rows.value == count


def test_a_started_export_shows_its_sources(client, task):
    answer = client.post("/exports/new", {"source": "api,manual,telemetry", "layout": "records", "start": "1"})
    assert answer.status_code == 302, answer.content.decode()
    assert ("source", "api, manual, telemetry") in client.get(answer.url).context["selection"]
