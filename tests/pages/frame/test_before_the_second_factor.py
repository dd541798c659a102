"""Who must set up a second factor first sees the page for it, and no way to what is still closed to them."""

import pytest

pytestmark = pytest.mark.django_db
SET_UP = "/account/second-factor/on"


@pytest.fixture
def lacking(visitor, settings):
    settings.AUTOTUNE_REQUIRE_SECOND_FACTOR = "all"
    return visitor()


@pytest.mark.parametrize("path", ["/account/confirm", "/nothing/here"])
def test_no_page_shows_them_the_navigation(lacking, path):
    body = lacking.get(path).content.decode()
    assert "<h1>" in body
    assert 'id="nav"' not in body
    assert lacking.organization.name not in body


def test_the_overview_is_not_available_either(lacking):
    answer = lacking.get("/")
    assert answer.status_code == 302
    assert answer["Location"].startswith(SET_UP)


def test_people_who_need_no_second_factor_keep_the_navigation(visitor):
    assert 'id="nav"' in visitor().get("/account/confirm").content.decode()
