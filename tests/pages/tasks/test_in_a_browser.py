"""What pages of tasks do in a browser: the prompt's preview, the panel's rows, the part that refreshes itself."""

import pytest
from playwright.sync_api import expect

from tasks.models import Task
from tests.factories import CompletionFactory, GraderFactory, RunFactory, ScoreFactory, public
from tests.support.browsing import PHONE, too_wide

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


def test_a_prompt_is_marked_and_tried_out_while_it_is_typed(visitor, browse):
    page = browse(visitor("training_operator"), "/tasks/new")
    area = page.get_by_label("Prompt template")
    area.fill("Translate <b>{{text}}</b> to {{ language }}; {{1}} and {{text}}.")
    expect(page.locator(".marks mark")).to_have_text(["{{text}}", "{{ language }}", "{{text}}"])
    expect(page.locator("[data-sample]")).to_have_count(2)
    page.get_by_label("text", exact=True).fill("<img src=x onerror=alert(1)>")
    preview = page.get_by_role("region", name="The prompt with sample values")
    expect(preview).to_have_text(
        "Translate <b><img src=x onerror=alert(1)></b> to {{ language }}; {{1}} and <img src=x onerror=alert(1)>."
    )
    area.fill("Only {{language}} now")
    expect(page.locator("[data-sample]")).to_have_count(1)
    area.fill("Nothing")
    expect(page.get_by_text("No variables")).to_be_visible()
    assert page.console_errors == []


def test_a_panel_is_made_with_the_keyboard_and_saved(visitor, browse, aside):
    client = visitor("training_operator")
    first, second = (GraderFactory(organization=client.organization, name=name) for name in ("Alpha", "Beta"))
    page = browse(client, "/tasks/new")
    page.get_by_label("Name", exact=True).fill("Sums")
    page.get_by_label("Prompt template").fill("{{a}}")
    expect(page.locator("[data-seat]")).to_have_count(1)
    page.get_by_label("Grader 1", exact=True).select_option(label="Alpha")
    add = page.get_by_role("button", name="Add a grader")
    for count in (2, 3):
        add.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_label(f"Grader {count}", exact=True)).to_be_focused()
    page.get_by_label("Grader 3", exact=True).select_option(label="Beta")
    page.get_by_label("Weight of grader 3").fill("0.25")
    page.get_by_role("button", name="Remove grader 2").click()
    expect(page.get_by_label("Grader 2", exact=True)).to_be_focused()
    expect(page.get_by_label("Weight of grader 2")).to_have_value("0.25")
    page.get_by_role("button", name="Create task").click()
    expect(page.get_by_role("heading", level=1, name="Sums")).to_be_visible()
    seats = aside(lambda: list(Task.objects.get().version.members.values_list("grader_id", "weight")))
    assert seats == [(first.pk, 1.0), (second.pk, 0.25)]
    assert page.console_errors == []


def test_progress_refreshes_without_losing_the_focus(visitor, browse, make_task, aside):
    client = visitor("training_operator")
    task = make_task(client)
    page = browse(client, f"/tasks/{public('task', task)}")
    link = page.get_by_role("link", name="1 version")
    link.focus()
    aside(lambda: ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task), status="completed")))
    page.evaluate("htmx.trigger('#progress', 'refresh')")
    expect(page.locator("#progress .figure", has_text="Completions").locator("dd:not(.note)")).to_have_text("1")
    expect(link).to_be_focused()
    assert page.console_errors == []


@pytest.mark.parametrize("where", ["", "/edit", "/versions", "/delete"])
def test_a_long_name_fits_on_a_phone(visitor, browse, make_task, where):
    client = visitor("organization_admin")
    wide = "W" * 200
    grader = GraderFactory(organization=client.organization, name=wide)
    task = make_task(client, [grader], name=wide, prompt_template=wide * 5, description=wide * 5)
    ScoreFactory(run=RunFactory(completion=CompletionFactory(task=task, model_id=wide), status="completed"))
    page = browse(client, f"/tasks/{public('task', task)}{where}", viewport=PHONE)
    assert too_wide(page) == 0
    assert page.console_errors == []
