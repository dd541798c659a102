"""The administrator's path: a grader, a task, people, a key, incoming scores, and the audit log of it all."""

import re

import pytest
import requests
from playwright.sync_api import expect

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]
PROMPT = "How many herons stood in the reeds?"


@pytest.fixture(scope="module")
def page(house):
    return house.admin()


@pytest.fixture(scope="module")
def grader(house, page):
    """The name of a grader that was registered at the form, started with the secret shown, and verified."""
    port = house.server.spare_ports.pop()
    page.goto("/graders")
    page.get_by_role("link", name="Register a grader").first.click()
    page.get_by_label("Name", exact=True).fill("Herons")
    page.get_by_label("Address").fill(f"http://127.0.0.1:{port}")
    page.get_by_label("Completions per call").fill("5")
    page.get_by_label("It can explain its scores").check()
    page.get_by_role("button", name="Register").click()
    secret = page.locator("#secret").inner_text()
    house.server.start_grader("herons", port, secret)
    page.get_by_role("link", name="Verify it").click()
    assert secret not in page.content()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("heading", name="Verified: the grader is active")).to_be_visible()
    expect(page.get_by_role("img", name="passed")).to_have_count(4)
    return "Herons"


@pytest.fixture(scope="module")
def task(page, grader):
    """The id of a task that was made at the form, with the grader in its panel."""
    page.goto("/tasks/new")
    page.get_by_label("Name", exact=True).fill("Counting")
    page.get_by_label("Prompt template").fill("{{question}}")
    page.get_by_label("Grader 1", exact=True).select_option(label=grader)
    page.get_by_role("button", name="Create task").click()
    expect(page.get_by_role("heading", level=1, name="Counting")).to_be_visible()
    return re.search(r"/tasks/(task_\w+)", page.url)[1]


@pytest.fixture(scope="module")
def key(page):
    """A key that was made at the form, as its button copies it."""
    page.goto("/settings/keys")
    page.get_by_role("link", name="Create a key").first.click()
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Role", exact=True).select_option(label="training operator")
    page.get_by_role("button", name="Create the key").click()
    page.get_by_role("button", name="Copy the key").click()
    expect(page.get_by_role("button", name="Copy the key")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("link", name="I have copied it").click()
    expect(page.get_by_role("heading", level=1, name="nightly")).to_be_visible()
    assert copied not in page.content()
    page.reload()
    assert copied not in page.content()
    return copied


def test_scores_appear_on_the_page_automatically(house, page, task, key):
    page.goto(f"/tasks/{task}")
    page.evaluate("window.sameDocument = true")
    item = {"taskId": task, "modelId": "heron-7b", "variables": {"question": PROMPT}, "metadata": {"pauseMs": 500}}
    answer = requests.post(
        f"{house.url}/api/v1/completions/batch",
        json={"completions": [{**item, "response": str(n)} for n in (7, 50, 93)]},
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
    )
    assert answer.status_code == 202, answer.text
    for name in ("Completions", "Scored"):
        figure = page.locator("#progress .figure").filter(has=page.get_by_text(name, exact=True))
        expect(figure.locator("dd:not(.note)")).to_have_text("3")
    assert page.evaluate("window.sameDocument")

    page.goto(f"/completions?taskId={task}")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("row", name=re.compile(r"0\.930")).get_by_role("link", name=PROMPT).click()
    expect(page.locator("#state")).to_contain_text("0.930")
    expect(page.locator("#response .response")).to_contain_text("93")
    expect(page.locator("#made")).to_contain_text("it says 93")
    assert (page.console_errors, page.failed_urls) == ([], [])


def test_an_invited_person_accepts_and_is_listed_as_a_member(house, page):
    guest = house.accept(house.invite(page, "rev@example.org", "reviewer"), "Rowan")
    page.goto("/settings/members")
    expect(page.get_by_role("row", name="Rowan")).to_contain_text("reviewer")
    guest.get_by_role("link", name="Reviews").click()
    expect(guest.get_by_role("heading", level=1, name="Reviews")).to_be_visible()
    assert guest.request.get("/settings/members").status == 403
    assert (page.console_errors, page.failed_urls, guest.console_errors, guest.failed_urls) == ([], [], [], [])


def test_the_audit_log_names_every_action(page, task, key):
    page.goto("/settings/audit")
    for action, sentence in (
        ("endpoint_graders.create", "created a grader"),
        ("tasks.create", "created a task"),
        ("keys.create", "created an API key"),
        ("completions.create", "created 3 completions"),
    ):
        page.get_by_label("Act", exact=True).select_option(action)
        page.get_by_role("button", name="Filter").click()
        expect(page).to_have_url(re.compile(rf"action={action}"))
        expect(page.get_by_role("row", name=f"admin@example.org {sentence}").first).to_contain_text("succeeded")
    expect(page.get_by_role("row", name="created 3 completions").first).to_contain_text("by key")
    page.get_by_role("link", name="created 3 completions").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("created 3 completions")
    expect(page.locator("main")).to_contain_text("/api/v1/completions/batch")
    assert key not in page.content()
    assert PROMPT not in page.content()
