"""Rows G and H of the list that every operation which reads has in common."""

import pytest

from tests.api.conftest import world_of
from tests.api.documented import OPERATIONS
from tests.factories import ApiKeyFactory

READS = [operation for operation in OPERATIONS if operation.method == "GET" and operation.needs_key]
LISTS = [
    operation for operation in READS if any(p["name"] == "cursor" for p in operation.described.get("parameters", ()))
]
TRICKS = (
    "owner__password__startswith=p", "user__password=x", "grader__secret__regex=.", "organization_id=1", "pk__in=1",
    "id__gt=0", "created_by__email__contains=a", "ordering=user__password", "fields=secret", "include=secret", "_=1",
    "format=api", "limit__gt=1", "__class__=x", "%00=1", "limit[]=1", "page_size=1000000", "depth=10",
)  # fmt: skip
SORTS = (
    "user__password",
    "?",
    "-",
    "secret",
    "id;drop",
    "created_at",
    "created_by__email",
    "-organization",
    "random()",
    "%00",
)
MOMENTS = (  # H11
    "2016-12-31T23:59:60Z", "2024-02-29", "2023-02-29", "2038-01-19T03:14:08Z", "2024-03-31T02:30:00+02:00", "0001-01-01",
    "9999-12-31", "9999-12-31T23:59:59-14:00", "2024-13-01", "2024-01-01T24:00:00Z", "-2024-01-01", "now", "1e9", "2024-W01",
    "%00", "２０２４-01-01",
)  # fmt: skip


@pytest.fixture
def world(db):
    return world_of(ApiKeyFactory(organization__operating=True), "https://grader.example.org")


def test_g01_no_query_reaches_undocumented_fields(world):
    for operation in READS:
        for trick in TRICKS:
            answer = world.api.get(f"{operation.url(world.ids)}?{trick}")
            assert answer.status_code == 400, (operation.name, trick)
            assert answer.json()["errors"][0]["code"] in {"unknown_parameter", "invalid_choice"}, (
                operation.name,
                trick,
            )


def test_g01_no_list_is_sorted_by_what_is_not_documented(world):
    for operation in LISTS:
        for sort in SORTS:
            answer = world.api.get(f"{operation.url(world.ids)}?sort={sort}")
            assert answer.status_code == 400, (operation.name, sort)
            assert answer.json()["errors"][0]["pointer"] == "?sort", (operation.name, sort)


def test_g03_no_list_takes_a_cursor_that_it_did_not_make(world):
    cursors = ("x", "e30:1:x", "'", "%00", "x" * 5_000, "WyIiLFtdXQ:1abcde:AAAA", "null")
    for operation in LISTS:
        for cursor in cursors:
            answer = world.api.get(f"{operation.url(world.ids)}?cursor={cursor}")
            assert answer.status_code == 400, (operation.name, cursor)


def test_g04_no_list_is_paged_without_a_bound(world):
    for operation in LISTS:
        for query in (
            "offset=10000000",
            "offset=-1",
            "limit=0",
            "limit=1001",
            "limit=1e9",
            "limit=99999999999999999999",
            "offset=x",
        ):
            assert world.api.get(f"{operation.url(world.ids)}?{query}").status_code == 400, (operation.name, query)


def test_h11_unusual_times_are_read_or_refused_and_never_an_error(world):
    dated = [
        operation
        for operation in READS
        if any(p["name"] == "startDate" for p in operation.described.get("parameters", ()))
    ]
    assert dated
    for operation in dated:
        for moment in MOMENTS:
            for name in ("startDate", "endDate"):
                answer = world.api.get(f"{operation.url(world.ids)}?{name}={moment}")
                assert answer.status_code in (200, 400), (operation.name, moment)
                if answer.status_code == 400:
                    assert answer.json()["errors"][0]["pointer"] == f"?{name}"


def test_g18_missing_scores_are_counted_and_never_zero(world):
    figures = world.api.get("/scores/summary").json()
    assert (figures["totalRecords"], figures["scoreDistribution"]["mean"]) == (1, 0.5)
    assert figures["unscored"] == 1
