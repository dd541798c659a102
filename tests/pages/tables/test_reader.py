"""Reading a list by keys in a browser: J and K beside the list, and on the pages of its rows."""

import re

import pytest
from playwright.sync_api import expect

from tests.factories import CompletionFactory, ScoreFactory, TaskFactory
from tests.support.browsing import violations

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]
WORST = 25


@pytest.fixture
def operator(visitor):
    client = visitor("training_operator")
    client.task = TaskFactory(organization=client.organization)
    for number in range(30):
        completion = CompletionFactory(task=client.task, prompt=f"Question {number}", response=f"Answer {number}.")
        ScoreFactory(run__completion=completion, value=number / 30)
    return client


def test_the_25_worst_answers_are_read_with_25_keys(operator, browse):
    page = browse(operator, f"/completions?taskId={operator.task.public_id}&sort=reward")
    body = page.locator("[data-reader-body]")
    keys = 0
    for number in range(WORST):
        page.keyboard.press("j")
        keys += 1
        expect(body.locator("#response")).to_contain_text(f"Answer {number}.")
    assert keys <= 27
    expect(page.locator("[data-reader-place]")).to_have_text("25 of 25 on this page")
    assert list(violations(page)) == []
    page.keyboard.press("j")
    expect(page.locator("[data-reader-place]")).to_have_text("25 of 25 on this page")
    page.keyboard.press("k")
    expect(body).to_contain_text("Answer 23.")
    page.keyboard.press("Escape")
    expect(page.locator("[data-reader-panel]")).to_be_hidden()
    assert page.console_errors == []


def test_no_key_acts_while_somebody_types_and_pages_of_rows_know_their_neighbours(operator, browse):
    page = browse(operator, f"/scores?taskId={operator.task.public_id}&sort=value")
    page.locator("#model").press("j")
    page.keyboard.press("Control+j")
    expect(page.locator("[data-reader-panel]")).to_be_hidden()
    page.locator("#model").press("Backspace")
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.get_by_label("Search pages, names, ids and actions").first).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("[data-reader] a.main").first.click()
    expect(page.locator("h1")).to_be_visible()
    first = page.url
    page.keyboard.press("j")
    expect(page).not_to_have_url(first)
    expect(page).to_have_url(re.compile("/scores/score_"))
    page.keyboard.press("k")
    expect(page).to_have_url(first)
    assert page.console_errors == []
