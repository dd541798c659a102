"""Pages: by offset with a total, by a cursor that belongs to one list, order and organization."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from django.test import override_settings

from autotune.access.models import Organization
from autotune.core import ids
from autotune.core.api import pagination
from autotune.core.api.pagination import MAX_OFFSET, PageQuery, SortOrder, page
from autotune.core.errors import Invalid
from autotune.core.pages import listing
from tests.factories import OrganizationFactory, TaskFactory

ORDER = SortOrder("organizations", {"createdAt": "created_at", "name": "name", "suspended": "suspended", "id": "id"})
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def rows():
    """25 rows of which five each share a moment, and every second one is suspended."""
    organizations = Organization.objects.bulk_create(
        Organization(name=f"name {n % 5} {n:02}", suspended=n % 2 == 0, id=ids.new()) for n in range(25)
    )
    for n, row in enumerate(organizations):
        Organization.objects.filter(pk=row.pk).update(created_at=BEGIN + timedelta(microseconds=n // 5))
    return organizations


def fetch(owner="me", order=ORDER, queryset=None, **query):
    queryset = Organization.objects.all() if queryset is None else queryset
    return page(queryset, PageQuery(**query), order, owner=owner)


def walk(**query):
    """Everything, page by page of the cursor."""
    rows, place = fetch(**query)
    seen = list(rows)
    while place.next_cursor:
        rows, place = fetch(**query, cursor=place.next_cursor)
        seen += rows
    return seen


def refusal(**query):
    with pytest.raises(Invalid) as refused:
        fetch(**query)
    (error,) = refused.value.errors
    return error.pointer, error.code


def test_an_offset_page_reports_limit_offset_total_and_the_next_cursor(rows):
    page_rows, place = fetch(limit=10, offset=10)
    assert (len(page_rows), place.limit, place.offset, place.total) == (10, 10, 10, 25)
    assert place.next_cursor
    page_rows, place = fetch(limit=10, offset=20)
    assert (len(page_rows), place.total, place.next_cursor) == (5, 25, None)


def test_an_exactly_full_last_page_has_no_next_cursor(rows):
    page_rows, place = fetch(limit=25)
    assert (len(page_rows), place.next_cursor) == (25, None)


def test_a_page_beyond_the_end_is_empty(rows):
    page_rows, place = fetch(offset=1000)
    assert (page_rows, place.total, place.next_cursor) == ([], 25, None)


def test_a_cursor_page_has_no_total(rows):
    _, first = fetch(limit=10)
    page_rows, place = fetch(limit=10, cursor=first.next_cursor)
    assert (len(page_rows), place.total, place.offset) == (10, None, 0)


@pytest.mark.parametrize(
    "sort",
    [
        None, "createdAt", "-createdAt", "name", "-name", "suspended", "-suspended", "suspended,-createdAt",
        "-suspended,name", "-createdAt,suspended,-name", "id", "-id", "suspended,id",
    ],
)  # fmt: skip
@pytest.mark.parametrize("limit", [1, 4, 24, 25])
def test_cursors_give_each_row_once_in_the_order_of_the_offsets(rows, sort, limit):
    whole, _ = fetch(sort=sort, limit=100)
    assert walk(sort=sort, limit=limit) == whole
    assert len({row.pk for row in whole}) == 25


def test_a_sort_orders_by_its_fields(rows):
    page_rows, _ = fetch(sort="-suspended,name", limit=100)
    assert page_rows == sorted(rows, key=lambda row: (not row.suspended, row.name))
    page_rows, _ = fetch(limit=100)
    moments = [row.created_at for row in page_rows]
    assert moments == sorted(moments, reverse=True)


def test_a_cursor_continues_from_an_offset_page(rows):
    whole, _ = fetch(limit=100)
    _, place = fetch(limit=5, offset=10)
    page_rows, _ = fetch(limit=100, cursor=place.next_cursor)
    assert page_rows == whole[15:]


def test_the_limit_may_change_between_pages(rows):
    whole, _ = fetch(limit=100)
    _, place = fetch(limit=7)
    page_rows, _ = fetch(limit=3, cursor=place.next_cursor)
    assert page_rows == whole[7:10]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sort", ["-createdAt", "name", "suspended,-name"])
def test_concurrent_inserts_and_deletes_neither_repeat_nor_skip_a_row(rows, sort, seed):
    chance = random.Random(seed)
    stays = {row.pk for row in chance.sample(rows, 12)}
    seen, place = fetch(sort=sort, limit=3)
    seen = [row.pk for row in seen]
    while place.next_cursor:
        goes = Organization.objects.exclude(pk__in=stays).order_by("?").first()
        if goes:
            goes.delete()  # it may be the very row that the cursor names
        OrganizationFactory(name=f"name {chance.random()}", suspended=chance.random() < 0.5)
        page_rows, place = fetch(sort=sort, limit=3, cursor=place.next_cursor)
        seen += [row.pk for row in page_rows]
    assert len(seen) == len(set(seen))
    assert stays <= set(seen)


def test_deleting_the_row_of_the_cursor_does_not_matter(rows):
    whole, _ = fetch(limit=100)
    _, place = fetch(limit=5)
    whole[4].delete()
    page_rows, _ = fetch(limit=100, cursor=place.next_cursor)
    assert page_rows == whole[5:]


def test_an_altered_cursor_is_refused(rows):
    _, place = fetch(limit=5)
    for at in range(0, len(place.next_cursor), 7):
        was = place.next_cursor[at]
        altered = place.next_cursor[:at] + ("A" if was != "A" else "B") + place.next_cursor[at + 1 :]
        assert refusal(cursor=altered) == ("?cursor", "invalid_cursor")


@pytest.mark.parametrize("cursor", ["", "x", ":", "::", "a:b:c", "é", "0" * 10_000, "W10:1abc:def", "\ufffd"])
def test_an_invented_cursor_is_refused(cursor):
    assert refusal(cursor=cursor) == ("?cursor", "invalid_cursor")


def test_a_cursor_of_another_list_organization_or_sort_is_refused(rows):
    _, place = fetch(limit=5, sort="name")
    other = SortOrder("people", ORDER.fields)
    assert fetch(sort="name", cursor=place.next_cursor)
    assert refusal(sort="name", cursor=place.next_cursor, order=other) == ("?cursor", "invalid_cursor")
    assert refusal(sort="name", cursor=place.next_cursor, owner="somebody") == ("?cursor", "invalid_cursor")
    assert refusal(sort="-name", cursor=place.next_cursor) == ("?cursor", "invalid_cursor")
    assert refusal(cursor=place.next_cursor) == ("?cursor", "invalid_cursor")
    with override_settings(SECRET_KEY="another one"):
        assert refusal(sort="name", cursor=place.next_cursor) == ("?cursor", "invalid_cursor")


def test_an_offset_has_a_cap(rows):
    assert fetch(offset=MAX_OFFSET)[0] == []
    assert refusal(offset=MAX_OFFSET + 1) == ("?offset", "out_of_range")


def test_an_offset_and_a_cursor_exclude_each_other(rows):
    _, place = fetch(limit=5)
    assert refusal(offset=1, cursor=place.next_cursor) == ("?offset", "invalid_choice")


@pytest.mark.parametrize(
    "sort",
    [
        "", "created_at", "name,", "--name", "+name", "name desc", "user__password", "?", "name,name", "name,-name",
        ",".join(["name"] * 800),
    ],
)  # fmt: skip
def test_a_sort_is_from_the_documented_set_and_names_each_field_once(sort):
    assert refusal(sort=sort) == ("?sort", "invalid_choice")


def test_the_number_of_queries_does_not_grow_with_the_rows(rows, django_assert_num_queries):
    for limit in (1, 20):
        with django_assert_num_queries(2):
            _, place = fetch(limit=limit)
        with django_assert_num_queries(1):
            fetch(limit=limit, cursor=place.next_cursor)


def test_through_the_api_cursors_reach_the_end_of_a_list(api_for):
    api = api_for()
    public_ids = {TaskFactory(organization=api.organization).public_id for _ in range(7)}
    TaskFactory()
    answer = api.get("/tasks?limit=3").json()
    assert answer["pagination"] | {"nextCursor": None, "totalIsLowerBound": False} == {
        "limit": 3,
        "offset": 0,
        "total": 7,
        "nextCursor": None,
        "totalIsLowerBound": False,
    }
    seen = [task["id"] for task in answer["tasks"]]
    while cursor := answer["pagination"]["nextCursor"]:
        answer = api.get(f"/tasks?limit=3&cursor={cursor}").json()
        assert answer["pagination"]["total"] is None
        seen += [task["id"] for task in answer["tasks"]]
    assert len(seen) == 7
    assert set(seen) == public_ids


def test_through_the_api_a_cursor_of_another_organization_is_refused(api_for):
    mine, theirs = api_for(), api_for()
    for api in (mine, theirs):
        TaskFactory.create_batch(2, organization=api.organization)
    cursor = mine.get("/tasks?limit=1").json()["pagination"]["nextCursor"]
    answer = theirs.get(f"/tasks?cursor={cursor}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?cursor")


def test_c24_a_total_is_exact_up_to_the_bound_and_beyond_it_a_lower_bound(rows, monkeypatch):
    monkeypatch.setattr(pagination, "COUNTED", 25)
    _, place = fetch(limit=10)
    assert (place.total, place.total_is_lower_bound) == (25, False)
    monkeypatch.setattr(pagination, "COUNTED", 24)
    for offset in (0, 20):
        _, place = fetch(limit=10, offset=offset)
        assert (place.total, place.total_is_lower_bound) == (25, True)
    monkeypatch.setattr(pagination, "COUNTED", 3)
    _, place = fetch(limit=10)
    assert (place.total, place.total_is_lower_bound) == (4, True)
    _, place = fetch(limit=10, cursor=place.next_cursor)
    assert (place.total, place.total_is_lower_bound) == (None, False)


def test_c24_a_total_of_10_000_is_exact_and_a_larger_one_is_a_lower_bound(db):
    organizations = [Organization(name=f"{n}", id=ids.new()) for n in range(pagination.COUNTED + 2)]
    Organization.objects.bulk_create(organizations, batch_size=2_000)
    last_id = Organization.objects.order_by("pk").values_list("pk", flat=True)[pagination.COUNTED - 1]
    _, place = fetch(queryset=Organization.objects.filter(pk__lte=last_id), limit=1)
    assert (place.total, place.total_is_lower_bound) == (10_000, False)
    _, place = fetch(limit=1)
    assert (place.total, place.total_is_lower_bound) == (10_001, True)
    assert fetch(limit=1, page_number=1)[1].total >= 10_002


def test_c24_a_page_by_its_number_has_an_exact_total_and_follows_the_one_before(rows, monkeypatch):
    monkeypatch.setattr(pagination, "COUNTED", 3)
    pages = [fetch(limit=10, page_number=number, sort="name") for number in (1, 2, 3, 4)]
    assert [row.pk for page_rows, _ in pages for row in page_rows] == [row.pk for row in walk(limit=7, sort="name")]
    assert {(place.total, place.total_is_lower_bound) for _, place in pages} == {(25, False)}
    assert [place.offset for _, place in pages] == [0, 10, 20, 30]
    assert pages[2][1].next_cursor is None


def test_c24_a_page_number_has_a_limit_that_the_refusal_names(rows):
    fetch(limit=1000, page_number=100)
    fetch(limit=1, page_number=MAX_OFFSET)
    for limit, number in ((1000, 101), (1, MAX_OFFSET + 1), (50, 2001), (50, 10**30)):
        with pytest.raises(Invalid) as refused:
            fetch(limit=limit, page_number=number)
        (error,) = refused.value.errors
        assert (error.pointer, error.code) == ("?page", "out_of_range")
        assert "100000" in error.detail
    assert refusal(page_number=2, offset=10) == ("?page", "invalid_choice")
    assert refusal(page_number=2, cursor="x") == ("?page", "invalid_choice")


@pytest.mark.parametrize(
    "path",
    [
        "/scores",
        "/completions",
        "/workflow-runs",
        "/tasks",
        "/graders",
        "/members",
        "/webhooks",
        "/exports",
        "/reviews",
    ],
)
def test_c24_every_list_takes_a_page_and_reports_whether_its_total_is_exact(api_for, path):
    api = api_for(role="organization_admin")
    answer = api.get(f"{path}?page=1&limit=2")
    assert answer.status_code == 200, answer.content
    assert answer.json()["pagination"]["totalIsLowerBound"] is False
    for bad in ("page=0", "page=x", "page=101&limit=1000", "page=1&offset=1"):
        refused = api.get(f"{path}?{bad}")
        assert refused.status_code == 400, (path, bad)
        assert refused.json()["errors"][0]["pointer"] == "?page", (path, bad)


def test_c24_a_page_of_the_site_says_that_there_are_more(client, rows, visitor, monkeypatch):
    person = visitor("organization_admin")
    TaskFactory.create_batch(4, organization=person.organization)
    monkeypatch.setattr(pagination, "COUNTED", 3)
    monkeypatch.setattr(listing, "COUNTED", 3)
    html = person.get("/tasks?limit=2&page=7").content.decode()
    assert "1–2 of more than 3 tasks" in html
