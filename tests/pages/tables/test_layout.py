"""The layout of a list: chosen columns, page sizes, and what changing one of them keeps of the address."""

import re

import pytest

from tests.factories import CompletionFactory, ScoreFactory, TaskFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(visitor):
    client = visitor("training_operator")
    client.task = TaskFactory(organization=client.organization)
    return client


@pytest.fixture
def completions(client):
    return [CompletionFactory(task=client.task) for _ in range(30)]


def page(client, query="", path="/completions"):
    answer = client.get(f"{path}?{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def heads(text):
    return [re.sub(r"<[^>]+>|\s+", "", head) for head in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', text, re.S)]


def test_the_address_chooses_columns_and_the_first_one_stays(client, completions):
    text = page(client, "columns=model&columns=status")
    assert heads(text) == ["Select", "Completion", "Status", "Model"]
    assert 'data-label="Status"' in text
    assert 'data-label="Reward"' not in text


def test_an_unknown_column_is_refused_by_name(client, completions):
    text = page(client, "columns=secret&columns=%3Cscript%3E")
    assert "There is no column “secret”" in text
    assert len(heads(text)) == 7
    assert "<script>" not in text.replace("<script ", "")


def test_filters_keep_order_size_and_columns(client, completions):
    text = page(client, "sort=createdAt&limit=50&columns=model")
    filters = re.search(r'<form class="filters".*?</form>', text, re.S)[0]
    for name, value in (("sort", "createdAt"), ("limit", "50"), ("columns", "model")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in filters


def test_the_form_of_the_columns_keeps_the_filters(client, completions):
    form = re.search(
        r'<details class="columns">.*?</details>', page(client, "startDate=2020-01-01&limit=7&offset=7"), re.S
    )[0]
    assert 'name="startDate" value="2020-01-01"' in form
    assert 'name="limit" value="7"' in form
    assert "offset" not in form


@pytest.mark.parametrize(
    ("limit", "rows"), [("0", 25), ("-1", 25), ("1e9", 25), ("1000000000", 30), ("50", 30), ("7", 7)]
)
def test_a_page_has_a_bearable_size(client, completions, limit, rows):
    assert page(client, f"limit={limit}").count('data-label="Status"') == rows


def test_a_size_that_is_not_valid_is_reported(client, completions):
    assert "<code>limit</code>" in page(client, "limit=0")


def test_the_foot_offers_sizes_where_the_smallest_does_not_hold_every_row(client, completions):
    assert re.search(r'href="\?limit=50"[^>]*>50</a>', page(client))
    assert 'class="sizes"' not in page(client, f"taskId={TaskFactory(organization=client.organization).public_id}")


def test_a_page_beyond_the_last_says_so(client, completions):
    assert "<tbody>" not in page(client, "offset=500")


def test_scores_show_the_beginning_of_prompt_and_response(client):
    completion = CompletionFactory(task=client.task, prompt="What is <b>two</b>?", response="It is 2.")
    ScoreFactory(run__completion=completion)
    text = page(client, path="/scores")
    assert "What is &lt;b&gt;two&lt;/b&gt;?" in text
    assert "It is 2." in text
    assert "It is 2." not in page(client, "columns=model", "/scores")


def test_scores_of_a_grader_owner_show_no_text_that_is_not_shared(visitor, client):
    completion = CompletionFactory(task=client.task, prompt="A private prompt")
    score = ScoreFactory(run__completion=completion)
    owner = visitor("grader_owner", client.organization, score.grader.created_by)
    assert "A private prompt" not in page(owner, path="/scores")
