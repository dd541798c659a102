"""A training operator submits answers, reads scores, retries failed runs, and gets training data and rewards."""

import json
import re
import shlex

import pytest
import requests
from autotune_sdk import AutotuneClient
from playwright.sync_api import expect

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
SCORED = (5, 20, 40, 60, 80, 95)


@pytest.fixture(scope="module")
def page(member):
    return member("training operator")


@pytest.fixture(scope="module")
def task(house, page):
    """A task of the operator whose completions are all scored except one, which its grader cannot judge."""
    page.goto("/settings/keys/new")
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_label("Role", exact=True).select_option(label="training operator")
    page.get_by_role("button", name="Create the key").click()
    key = page.locator("#secret").inner_text()
    with AutotuneClient(key, house.server.client.base_url) as client:
        task = client.tasks.create(name="Sums", prompt_template="{{prompt}}", grader_id=house.server.grader_id)
        items = [
            {"model_id": f"m-{n % 2}", "prompt": f"p{n}", "response": str(n), "external_id": str(n)} for n in SCORED
        ]
        unjudged = {"model_id": "m-0", "prompt": "p", "response": "none", "external_id": "none"}
        ids = client.completions.submit_batch([*items, unjudged], task_id=task.id).ids
        outcomes = client.completions.wait_for_scores(ids, timeout_s=60)
    assert [outcome.status for outcome in outcomes.values()] == ["completed"] * len(SCORED) + ["failed"]
    return task.id


def test_the_explorer_filters_in_place_and_keeps_it_in_the_address(page, task):
    page.goto(f"/scores?taskId={task}")
    page.evaluate("window.sameDocument = true")
    expect(page.locator("#count")).to_have_text("6")
    page.get_by_label("Score from").fill("0.5")
    page.get_by_label("Score from").press("Tab")
    expect(page.locator("#count")).to_have_text("3")
    expect(page).to_have_url(re.compile(rf"\?taskId={task}&minScore=0\.5$"))
    expect(page.locator("#results .stack tbody tr")).to_have_count(3)
    page.reload()
    expect(page.locator("#count")).to_have_text("3")
    page.go_back()
    expect(page.locator("#count")).to_have_text("6")
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_a_dead_letter_is_inspected_and_retried(house, page, task):
    page.goto(f"/workflow-runs/failed?taskId={task}")
    expect(page.get_by_text("1 failed workflow run with 1 code")).to_be_visible()
    expect(page.get_by_text("no digits")).to_be_visible()
    page.get_by_role("link", name="Open the last workflow run").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    run = page.url
    page.go_back()
    page.get_by_role("link", name="Retry it").click()
    expect(page.get_by_text("All of them can be retried")).to_be_visible()
    page.get_by_role("button", name="Retry 1 run").click()
    expect(page.get_by_text("1 run is due again")).to_be_visible()
    page.goto(run)
    expect(page.get_by_text("Retried on request")).to_be_visible()
    expect(page.locator(".timeline > li.bad", has_text="Failed")).to_be_visible()  # as before: nothing was changed
    expect(page.locator(".timeline > li", has_text="Call to the grader")).to_have_count(2)
    expect(page.locator("#board")).to_contain_text("no digits")
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_an_export_is_counted_written_by_a_worker_and_downloaded(page, task):
    page.goto(f"/scores?taskId={task}")
    page.get_by_role("link", name="Export this selection").click()
    count = page.locator("#count .big")
    expect(count).to_have_text("6 rows")
    page.get_by_label("Score from").fill("0.5")
    expect(count).to_have_text("3 rows")
    page.get_by_role("button", name="Start the export").click()
    expect(page.get_by_role("heading", level=1, name="Export: Records")).to_be_visible()
    page.evaluate("window.sameDocument = true")
    file = page.get_by_role("link", name=re.compile(r"^Download \S+\.jsonl"))
    expect(file).to_be_visible()
    assert page.evaluate("window.sameDocument")
    with page.expect_download() as started:
        file.click()
    rows = [json.loads(line) for line in started.value.path().read_text().splitlines()]
    assert {row["response"]: row["score"] for row in rows} == {str(n): n / 100 for n in SCORED if n >= 50}
    assert len(rows) == 3
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_a_reward_endpoint_is_made_and_answers_the_command_that_is_copied(page, task):
    page.goto(f"/reward-endpoints/new?taskId={task}")
    page.get_by_role("radio", name="OpenRLHF").check()
    page.get_by_role("radio", name="Hold").check()
    page.get_by_role("button", name="Create endpoint").click()
    expect(page.get_by_text("The address is shown only once.")).to_be_visible()
    page.get_by_role("button", name="Copy: By hand").click()
    words = shlex.split(page.evaluate("navigator.clipboard.readText()").replace("\\\n", " "))
    url, body = next(word for word in words if word.startswith("http")), words[words.index("-d") + 1]
    headers = dict([words[words.index("-H") + 1].split(": ")])
    answer = requests.post(url.replace("localhost", "127.0.0.1"), data=body, headers=headers, timeout=60)
    assert (answer.status_code, answer.json()["rewards"]) == (200, [0.04]), answer.text
    page.goto("/reward-endpoints")
    page.get_by_role("row", name="Sums").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="In the trainer: OpenRLHF")).to_be_visible()
    assert url.rpartition("/")[2] not in page.content()
    assert (page.console_errors, page.failed_urls) == ([], [])
