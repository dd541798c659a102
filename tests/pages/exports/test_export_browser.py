"""Exports and pairs in a browser: the live count, the copied command, the page without scripts."""

import re

import pytest
from playwright.sync_api import expect

from exports.models import Export
from tests.factories import ExportFactory, public
from tests.support.browsing import PHONE, foreign, too_wide

pytestmark = [pytest.mark.pages, pytest.mark.django_db(transaction=True, serialized_rollback=True)]


def test_the_count_follows_what_is_typed_and_the_field_keeps_its_focus(operator, task, scored, browse, live_server):
    scored(7)
    page = browse(operator, f"/exports/new?taskId={public('task', task)}")
    count = page.locator("#count .big")
    expect(count).to_have_text("7 rows")
    page.get_by_label("Score from").fill("0.35")
    expect(count).to_have_text("4 rows")
    expect(page.get_by_label("Score from")).to_be_focused()
    expect(page).to_have_url(f"{live_server.url}/exports/new?taskId={public('task', task)}&minScore=0.35")
    assert page.console_errors == []
    assert foreign(page, live_server) == []


def test_on_a_phone_the_count_and_the_start_stay_in_sight(operator, task, scored, browse):
    scored(7)
    page = browse(operator, f"/exports/new?taskId={public('task', task)}", viewport=PHONE)
    start, tally = page.get_by_role("button", name="Start the export"), page.locator("#tally")
    expect(start).to_be_in_viewport(ratio=1)
    expect(tally).to_have_text("7 rows")
    page.get_by_label("Score from").fill("0.35")
    expect(tally).to_have_text("4 rows")
    expect(tally).to_be_in_viewport(ratio=1)
    expect(start).to_be_in_viewport(ratio=1)


def test_a_layout_shows_its_own_options(operator, task, scored, browse):
    scored(9)
    page = browse(operator, f"/exports/new?taskId={public('task', task)}")
    expect(page.get_by_label("Which pairs")).to_be_hidden()
    page.get_by_role("radio", name="Preference pairs").check()
    expect(page.locator("#count .big")).to_have_text("3 pairs")
    expect(page.locator("#sample summary").first).to_have_text("Pair 1")
    expect(page.get_by_label("Which pairs")).to_be_visible()
    expect(page.get_by_label("Seed")).to_be_hidden()
    page.get_by_label("Which pairs").select_option("random")
    expect(page.get_by_label("Seed")).to_be_visible()


def test_enter_in_a_field_starts_nothing(operator, task, scored, browse):
    scored(7)
    page = browse(operator, f"/exports/new?taskId={public('task', task)}")
    page.get_by_role("combobox", name="Model").fill("osprey-32b")
    page.get_by_role("combobox", name="Model").press("Enter")
    expect(page).to_have_url(re.compile("modelId=osprey-32b"))
    assert not Export.objects.exists()


def test_an_export_can_be_started_by_keyboard(operator, task, scored, browse):
    scored(7)
    page = browse(operator, "/exports/new")
    page.get_by_role("radio", name="Records").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Preference pairs")).to_be_checked()
    page.get_by_role("button", name="Start the export").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Export: Preference pairs")
    assert Export.objects.get().query == {"layout": "preferences"}


def test_without_scripts_a_button_counts(operator, task, scored, browse):
    scored(7)
    page = browse(operator, f"/exports/new?taskId={public('task', task)}", java_script_enabled=False)
    page.get_by_label("Score from").fill("0.35")
    page.get_by_role("button", name="Count again").click()
    expect(page.locator("#count .big")).to_have_text("4 rows")


def test_a_command_is_copied(operator, browse):
    export = ExportFactory(
        organization=operator.organization, created_by=operator.user, rows=1, files={"records.jsonl": b"{}\n"}
    )
    page = browse(operator, f"/exports/{public('exp', export)}", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy: Check").click()
    expect(page.get_by_role("button", name="Copy: Check")).to_have_text("Copied")
    digest = export.files.get().sha256
    assert f"{digest}  records.jsonl" in page.evaluate("navigator.clipboard.readText()")


def test_progress_updates_automatically(operator, browse):
    export = ExportFactory(organization=operator.organization, created_by=operator.user, status="running", expected=100)
    page = browse(operator, f"/exports/{public('exp', export)}")
    Export.objects.update(rows=50)
    expect(page.get_by_text("50 % of about 100 rows")).to_be_visible()
    assert page.console_errors == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(operator, task, scored, browse, scheme):
    scored(9, prompt="x" * 3000, response="y" * 10_000)
    export = ExportFactory(
        organization=operator.organization, created_by=operator.user, rows=1, files={"records.jsonl": b"{}\n"}
    )
    task_filter = f"taskId={public('task', task)}"
    for path in (
        "/exports",
        f"/exports/new?{task_filter}",
        f"/exports/{public('exp', export)}",
        f"/pairs?{task_filter}",
    ):
        page = browse(operator, path, viewport=PHONE, color_scheme=scheme)
        assert too_wide(page) <= 0, path
        assert page.console_errors == []
