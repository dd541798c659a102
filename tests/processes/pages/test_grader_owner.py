"""The grader owner's way: their graders and no others, figures, the console, a new secret, and no text of a consumer."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PROMPT, RESPONSE = "MARKofaprompt", "42"
GRADER = re.compile(r"/graders/grader_\w+$")


@pytest.fixture(scope="module")
def page(member):
    return member("grader owner")


@pytest.fixture(scope="module")
def started(house, page):
    """(page of the grader, file of its secret) of the owner's own grader, which is not verified yet."""
    port = house.server.spare_ports.pop()
    page.goto("/graders/new")
    page.get_by_label("Name", exact=True).fill("Mine")
    page.get_by_label("Address").fill(f"http://127.0.0.1:{port}")
    page.get_by_label("Completions per call").fill("5")
    page.get_by_label("It can explain its scores").check()
    page.get_by_role("button", name="Register").click()
    secret_file = house.server.start_grader("mine", port, page.locator("#secret").inner_text())
    page.get_by_role("link", name="View the grader").click()
    expect(page).to_have_url(GRADER)
    return page.url, secret_file


@pytest.fixture(scope="module")
def mine(page, started):
    """The page of the grader, verified."""
    address, _ = started
    verify(page, address)
    return address


@pytest.fixture(scope="module")
def scored(house, mine):
    """A consumer's task, scored by the owner's grader."""
    task = house.server.client.tasks.create(
        name="Consumers' task", prompt_template="{{prompt}}", grader_id=mine.rpartition("/")[2]
    )
    sent = house.server.client.completions.submit(
        task_id=task.id, model_id="m", prompt=PROMPT, response=RESPONSE, metadata={"hint": f"{PROMPT} again"}
    )
    assert house.server.client.completions.wait_for_score(sent.completion.id, timeout_s=60).value == 0.42
    return sent.completion.id


def verify(page, address):
    page.goto(f"{address}/verify")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("heading", name="Verified: the grader is active")).to_be_visible()
    expect(page.get_by_role("img", name="passed")).to_have_count(4)


def test_an_owner_sees_their_own_graders_and_no_other(house, page, mine):
    page.goto("/graders")
    expect(page.locator("#board tbody tr")).to_have_count(1)
    expect(page.get_by_role("row", name="Mine")).to_contain_text("active")
    for rest in ("", "/verify", "/try", "/settings", "/rotate"):
        assert page.request.get(f"/graders/{house.server.grader_id}{rest}").status == 404, rest
    page.goto(mine)
    expect(page.get_by_role("heading", level=1, name="Mine")).to_be_visible()


def test_the_console_signs_calls_and_shows_the_response(house, page, mine):
    page.goto(f"{mine}/try")
    page.get_by_label("Prompt", exact=True).fill("How many?")
    page.get_by_label("Response").fill("72")
    page.get_by_role("button", name="Send the sample").click()
    answers = page.locator("#answers")
    expect(answers.get_by_role("heading", name="Scored")).to_be_visible()
    expect(answers).to_contain_text("0.720")
    expect(answers).to_contain_text("it says 72")
    expect(answers.locator(".badge", has_text="verified")).to_be_visible()
    page.get_by_label("Response").fill("no number")
    page.get_by_role("button", name="Send the sample").click()
    expect(answers.get_by_role("heading", name="No score")).to_be_visible()
    expect(answers).to_contain_text("no digits")
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_the_figures_count_what_was_scored(page, mine, scored):
    page.goto(f"{mine}?window=all")
    expect(page.locator(".figure", has_text="Mean score").locator("dd")).to_have_text("0.420")
    expect(page.locator(".figure", has_text="Scored").locator("dd")).to_have_text("1")
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_no_text_of_a_consumer_is_on_any_page_of_theirs(page, mine, scored):
    """The walk over all places of the navigation and what their tables lead to."""
    page.goto("/")
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    open_, seen = [link.get_attribute("href") for link in links.all()], set()
    while open_:
        path = open_.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = page.goto(path)
        assert answer.status == 200, path
        text = answer.text()
        assert PROMPT not in text, path
        assert ">42<" not in text, path
        rows = page.locator("main td a.main")
        open_ += [link.get_attribute("href").partition("?")[0] for link in rows.all()]
    assert {path.partition("/")[2].partition("/")[0] for path in seen} >= {"graders", "scores", "workflow-runs"}
    assert any(path.startswith("/scores/score_") for path in seen)
    assert any(path.startswith("/workflow-runs/run_") for path in seen)
    assert page.request.get(f"/completions/{scored}").status == 404
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_a_new_secret_is_shown_once_and_adopted_without_a_gap(page, started, mine):
    address, secret_file = started
    page.goto(f"{address}/settings")
    before = page.locator(".facts", has_text="Current secret").locator("code").nth(1).inner_text()
    page.get_by_role("link", name="Rotate the secret").click()
    page.get_by_role("button", name="Create a new secret").click()
    new = page.locator("#secret").inner_text()
    assert new != secret_file.read_text()
    verify(page, address)  # the grader still signs with the one before
    secret_file.write_text(new)
    verify(page, address)
    page.goto(f"{address}/settings")
    expect(page.locator(".facts", has_text="Current secret").locator("code").nth(1)).not_to_have_text(before)
    assert new not in page.content()
    page.goto(f"{address}/try")
    page.get_by_role("button", name="Send the sample").click()
    expect(page.locator("#answers .badge", has_text="verified")).to_be_visible()
    assert (page.console_errors, page.failed_urls) == ([], [])
