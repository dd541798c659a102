"""The layout of every page: where one is, who one is, how pages that fail look, and that nothing of it is kept by others."""

import re

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from autotune.access.frame.entry import page
from autotune.access.models import Membership, Role
from autotune.core import ids
from tests.factories import OrganizationFactory, UserFactory

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202egnirts " + "x" * 150
PART = {"HX-Request": "true"}


def html(client, path, **more):
    return client.get(path, **more).content.decode()


def test_a_stranger_is_sent_to_a_login_that_leads_back(client):
    answer = client.get("/search?q=a b")
    assert answer.status_code == 302
    assert answer["Location"] == "/account/login?next=%2Fsearch%3Fq%3Da%2Bb" or "next=%2Fsearch" in answer["Location"]


def test_a_refreshing_part_without_a_session_redirects_the_whole_page(client):
    for path in ("/search?q=x", "/", "/?period=7d"):
        answer = client.get(path, headers={**PART, "HX-Current-URL": "http://testserver/workflow-runs?status=failed"})
        login = "/account/login?next=%2Fworkflow-runs%3Fstatus%3Dfailed"
        assert (answer.status_code, answer["HX-Redirect"]) == (204, login)
    elsewhere = client.get("/search", headers={**PART, "HX-Current-URL": "https://elsewhere.example/x"})
    assert elsewhere["HX-Redirect"] == "/account/login"


def test_pages_are_never_cached(visitor):
    client = visitor()
    for path in ("/", "/search", "/search?q=nothing"):
        assert set(client.get(path)["Cache-Control"].split(", ")) >= {"private", "no-store"}, path


def test_a_person_without_an_organization_gets_an_explanation():
    client = Client()
    client.force_login(UserFactory())
    answer = client.get("/search")
    assert answer.status_code == 403
    assert "You belong to no organization" in answer.content.decode()
    assert 'id="nav"' not in answer.content.decode()


def test_an_unknown_path_is_a_404_page_with_the_navigation(visitor, client):
    inside = visitor().get("/nowhere")
    assert inside.status_code == 404
    assert 'id="nav"' in inside.content.decode()
    assert inside["X-Request-Id"] in inside.content.decode()
    outside = client.get("/nowhere")
    assert outside.status_code == 404
    assert 'id="nav"' not in outside.content.decode()


def test_a_method_that_a_page_does_not_know_is_405(visitor):
    answer = visitor().post("/search")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_a_forbidden_page_is_403_with_the_navigation(visitor):
    @page(("audit", "read"))
    def view(request):
        return HttpResponse("secret")

    client = visitor("reviewer")
    request = RequestFactory().get("/x")
    request.user, request.session, request.request_id = client.user, {}, "r1"
    answer = view(request)
    assert answer.status_code == 403
    assert b"may not read audit" in answer.content
    assert b'id="nav"' in answer.content
    assert b"secret" not in answer.content


def test_a_form_without_its_token_is_refused_with_the_navigation(visitor):
    client = visitor()
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(client.user)
    answer = strict.post("/account/name", {"name": "x"})
    assert answer.status_code == 403
    assert "has expired" in answer.content.decode()


def test_with_one_organization_there_is_nothing_to_switch(visitor):
    text = html(visitor(), "/search")
    assert 'id="organizations"' not in text


def test_with_two_organizations_a_person_can_switch_and_sees_only_the_chosen_one(visitor):
    client = visitor(organization=OrganizationFactory(name="Bergen Compilers"))
    other = OrganizationFactory(name="Lund Law")
    reviewer = Role.objects.get(organization=None, name="reviewer")
    Membership.objects.create(organization=other, user=client.user, role=reviewer)
    text = html(client, "/search")
    assert re.search(r'class="organization"[^>]*>\s*<span><bdi>Bergen Compilers', text)
    answer = client.post(
        "/account/organization", {"organization": ids.encode("org", other.pk), "to": "home"}, follow=True
    )
    assert answer.redirect_chain == [("/", 302)]
    text = answer.content.decode()
    assert re.search(r'class="organization"[^>]*>\s*<span><bdi>Lund Law', text)
    assert "You now act in Lund Law" in text
    assert "/settings/audit" not in text


def test_hostile_names_are_text_and_in_one_line(visitor):
    client = visitor(organization=OrganizationFactory(name=HOSTILE), user=UserFactory(name=HOSTILE))
    text = html(client, "/search?q=" + HOSTILE.replace("<", "%3C"))
    assert "<script>alert" not in text
    assert "<bdi>&lt;script&gt;alert(1)" in text


def test_the_server_sends_the_chosen_colour_scheme(visitor, client):
    person = visitor()
    for browser, path in ((person, "/search"), (client, "/"), (client, "/account/login")):
        for theme in ("dark", "light"):
            browser.cookies["theme"] = theme
            assert f'<html lang="en-GB" data-theme="{theme}">' in html(browser, path)
        browser.cookies["theme"] = '"><script>'
        assert '<html lang="en-GB">' in html(browser, path)


def test_a_page_has_its_landmarks_and_one_heading(visitor):
    text = html(visitor(), "/search")
    assert text.count("<h1") == 1
    assert text.count("<main") == 1
    assert '<a class="skip" href="#main">' in text
    assert text.index('class="skip"') < text.index("<header")


def test_the_frame_takes_few_queries(visitor, django_assert_max_num_queries):
    client = visitor()
    for _ in range(15):
        Membership.objects.create(
            organization=OrganizationFactory(),
            user=client.user,
            role=Role.objects.get(organization=None, name="reviewer"),
        )
    client.get("/search")
    with django_assert_max_num_queries(7):
        client.get("/search")


def test_the_api_reference_has_the_frame_of_its_reader(visitor, client):
    open_page = client.get("/api/v1/docs").content.decode()
    assert open_page.count("<h1") == 1
    assert "Search pages, names, ids and actions" not in open_page
    framed_page = visitor("reviewer").get("/api/v1/docs").content.decode()
    assert framed_page.count("<h1") == 1
    assert "Search pages, names, ids and actions" in framed_page
    assert "Log out" in framed_page
