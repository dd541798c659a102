"""Every list and form of the administration in Chromium: axe finds nothing, nothing is too wide, no script complains."""

import pytest

from autotune.access.models import Organization
from scores.models import Erasure
from tests.site.admin.world import MODELS, address, populate
from tests.support.browsing import DESK, PHONE, is_right, too_wide, violations

pytestmark = [pytest.mark.pages, pytest.mark.timeout(600)]


@pytest.fixture
def pages(boss, keys_at_hand):
    """Their addresses, with some rows on every list."""
    populate(2)
    lists = [address(model, "changelist") for model in MODELS]
    newest = {model: model._default_manager.order_by("-pk").first() for model in MODELS}
    forms = [address(model, "change", row.pk) for model, row in newest.items() if row]
    adds = [address(model, "add") for model in MODELS if boss.get(address(model, "add")).status_code == 200]
    return lists + forms + adds


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_no_page_has_a_serious_problem(boss, pages, browse, viewport, scheme):
    page = browse(boss, "/admin/", viewport=viewport, color_scheme=scheme)
    problems = []
    for path in pages:
        page.console_errors.clear()
        answer = page.goto(path)
        problems += [
            (path, fault)
            for fault in (
                *([] if answer.status == 200 else [f"status {answer.status}"]),
                *(f"said {text}" for text in page.console_errors),
                *([f"{too_wide(page)} px too wide"] if too_wide(page) > 0 else []),
                *([] if is_right(page, scheme) else ["ground of the other scheme"]),
                *violations(page),
            )
        ]
    assert not problems, "\n".join(f"{path}: {fault}" for path, fault in problems)


def test_a_wide_list_scrolls_inside_the_page(boss, keys_at_hand, browse):
    populate(2)
    for organization in Organization.objects.all():
        organization.name = f"{'M' * 60}{organization.pk.hex}"
        organization.save()
    page = browse(boss, "/admin/", viewport={"width": 800, "height": 800})
    page.goto(address(Erasure, "changelist"))
    assert too_wide(page) <= 0
